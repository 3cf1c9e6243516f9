//! Files from the keys of an object.

use k8s_openapi::api::core::v1::KeyToPath;

use super::VolumeError;
use super::atomic::Files;
use super::published::file;

/// What a volume takes from an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    /// Keys and their files; none: every key is a file of its name.
    pub(super) items: &'a [KeyToPath],
    /// Mode of files whose item says nothing.
    pub(super) default_mode: Option<i32>,
    /// A key that is not there is left out.
    pub(super) optional: bool,
    /// How a missing key is told, before its name.
    pub(super) missing: &'static str,
}

impl Items<'_> {
    /// The files of an object, whose values are given by key.
    pub(super) fn files<'v>(
        &self,
        values: impl Iterator<Item = (&'v str, &'v [u8])> + Clone,
    ) -> Result<Files, VolumeError> {
        let mut files = Files::new();
        if self.items.is_empty() {
            for (key, value) in values {
                let (path, file) = file(key, value.to_vec(), self.default_mode)?;
                files.insert(path, file);
            }
            return Ok(files);
        }
        for item in self.items {
            let found = values.clone().find(|(key, _)| *key == item.key);
            let value = match found {
                Some((_, value)) => value.to_vec(),
                None if self.optional => continue,
                None => {
                    return Err(VolumeError::Wrong(format!(
                        "{}: {}",
                        self.missing, item.key
                    )));
                }
            };
            let (path, file) = file(&item.path, value, item.mode.or(self.default_mode))?;
            files.insert(path, file);
        }
        Ok(files)
    }
}
