/* devopen MAJOR FIRST LAST FOLDER: makes character device nodes in FOLDER, opens each and prints one line a node,
 * "MINOR ok", "MINOR ENXIO", "MINOR EPERM" or "MINOR errno N".
 *
 * Without a driver behind the major number ENXIO means that the device cgroup let the open through, EPERM that it
 * did not. Making a node is allowed to every container that has CAP_MKNOD, so that the answer is the device
 * cgroup's alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: devopen MAJOR FIRST LAST FOLDER\n");
        return 2;
    }
    int major = atoi(argv[1]), last = atoi(argv[3]);
    mkdir(argv[4], 0755);
    for (int minor = atoi(argv[2]); minor <= last; minor++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d-%d", argv[4], major, minor);
        unlink(path);
        if (mknod(path, S_IFCHR | 0600, makedev(major, minor)) != 0) {
            perror(path);
            return 1;
        }
        int fd = open(path, O_RDONLY | O_NONBLOCK);
        if (fd >= 0)
            printf("%d ok\n", minor);
        else if (errno == ENXIO)
            printf("%d ENXIO\n", minor);
        else if (errno == EPERM)
            printf("%d EPERM\n", minor);
        else
            printf("%d errno %d\n", minor, errno);
        if (fd >= 0)
            close(fd);
        unlink(path);
    }
    return 0;
}
