//! The smallest shared object that the dynamic linker and ldconfig take for one: an ELF file that has a
//! soname and nothing else.

/// Sizes of the ELF-64 structures.
const FILE_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const DYNAMIC_ENTRY: u64 = 16;
const SYMBOL: u64 = 24;
const HASH_WORDS: u64 = 4;

const PROGRAM_HEADERS: u64 = 2;
const DYNAMIC_ENTRIES: u64 = 7;

/// Types of program headers and of dynamic entries.
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
const DT_SONAME: u64 = 14;

/// Readable and writable: the linker relocates the dynamic section in place.
const READ_WRITE: u32 = 6;

const PAGE: u64 = 0x1000;
const X86_64: u16 = 62;
const SHARED_OBJECT: u16 = 3;

/// Content of a shared object with this soname.
pub(super) fn shared_object(soname: &str) -> Vec<u8> {
    let dynamic = FILE_HEADER + PROGRAM_HEADERS * PROGRAM_HEADER;
    let symbols = dynamic + DYNAMIC_ENTRIES * DYNAMIC_ENTRY;
    let hash = symbols + SYMBOL;
    let strings = hash + HASH_WORDS * 4;
    let string_table = [b"\0", soname.as_bytes(), b"\0"].concat();
    let strings_size = u64::try_from(string_table.len()).unwrap_or_default();
    let size = strings + strings_size;

    let mut file = file_header();
    file.extend(program_header(LOAD, 0, size, PAGE));
    file.extend(program_header(
        DYNAMIC,
        dynamic,
        DYNAMIC_ENTRIES * DYNAMIC_ENTRY,
        8,
    ));
    let entries = [
        (DT_SONAME, 1),
        (DT_HASH, hash),
        (DT_STRTAB, strings),
        (DT_SYMTAB, symbols),
        (DT_STRSZ, strings_size),
        (DT_SYMENT, SYMBOL),
        (DT_NULL, 0),
    ];
    for (tag, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 24]); // the null symbol
    for word in [1_u32, 1, 0, 0] {
        file.extend(word.to_le_bytes()); // one bucket, one chain, both empty
    }
    file.extend(string_table);
    file
}

fn file_header() -> Vec<u8> {
    let mut header = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header.extend(SHARED_OBJECT.to_le_bytes());
    header.extend(X86_64.to_le_bytes());
    header.extend(1_u32.to_le_bytes()); // version
    header.extend(0_u64.to_le_bytes()); // no entry point
    header.extend(FILE_HEADER.to_le_bytes()); // where the program headers are
    header.extend(0_u64.to_le_bytes()); // no section headers
    header.extend(0_u32.to_le_bytes()); // no flags
    for size in [64_u16, 56, 2, 64, 0, 0] {
        header.extend(size.to_le_bytes()); // sizes and numbers of headers
    }
    header
}

fn program_header(kind: u32, offset: u64, size: u64, alignment: u64) -> Vec<u8> {
    let mut header = Vec::new();
    header.extend(kind.to_le_bytes());
    header.extend(READ_WRITE.to_le_bytes());
    // Offset, virtual and physical address are one; so are the sizes in the file and in memory.
    for value in [offset, offset, offset, size, size, alignment] {
        header.extend(value.to_le_bytes());
    }
    header
}
