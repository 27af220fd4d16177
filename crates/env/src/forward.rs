//! File systems over other file systems.

/// Implements the named methods of [`Fs`](crate::Fs) by calls of the same methods of the file
/// system in a field. The `impl Fs` of a file system over another one uses this macro, and
/// implements only the methods that differ.
#[macro_export]
macro_rules! forward_fs {
    ($field:ident: $($method:ident),+ $(,)?) => {
        $($crate::forward_fs!(@$method $field);)+
    };
    (@open $f:ident) => {
        $crate::forward_fs!(=> $f.open(path: &Path, mode: $crate::OpenMode) -> Arc<dyn $crate::File>);
    };
    (@open_direct $f:ident) => {
        $crate::forward_fs!(=> $f.open_direct(path: &Path, mode: $crate::OpenMode) -> Arc<dyn $crate::File>);
    };
    (@rename $f:ident) => { $crate::forward_fs!(=> $f.rename(from: &Path, to: &Path) -> ()); };
    (@remove $f:ident) => { $crate::forward_fs!(=> $f.remove(path: &Path) -> ()); };
    (@create_dir_all $f:ident) => { $crate::forward_fs!(=> $f.create_dir_all(path: &Path) -> ()); };
    (@remove_dir $f:ident) => { $crate::forward_fs!(=> $f.remove_dir(path: &Path) -> ()); };
    (@list $f:ident) => { $crate::forward_fs!(=> $f.list(dir: &Path) -> Vec<$crate::DirEntry>); };
    (@exists $f:ident) => { $crate::forward_fs!(=> $f.exists(path: &Path) -> bool); };
    (@sync_dir $f:ident) => { $crate::forward_fs!(=> $f.sync_dir(dir: &Path) -> ()); };
    (@hard_link $f:ident) => { $crate::forward_fs!(=> $f.hard_link(from: &Path, to: &Path) -> ()); };
    (@try_lock $f:ident) => {
        $crate::forward_fs!(=> $f.try_lock(path: &Path) -> Option<Box<dyn $crate::FileLock>>);
    };
    (@try_lock_to_read $f:ident) => {
        $crate::forward_fs!(=> $f.try_lock_to_read(path: &Path) -> Option<Box<dyn $crate::FileLock>>);
    };
    (@is_locked_here $f:ident) => {
        fn is_locked_here(&self, path: &Path) -> bool {
            self.$f.is_locked_here(path)
        }
    };
    (@available_bytes $f:ident) => { $crate::forward_fs!(=> $f.available_bytes(path: &Path) -> u64); };
    (@capacity_bytes $f:ident) => { $crate::forward_fs!(=> $f.capacity_bytes(path: &Path) -> u64); };
    (@is_same_disk $f:ident) => { $crate::forward_fs!(=> $f.is_same_disk(one: &Path, other: &Path) -> bool); };
    (@open_files_max $f:ident) => {
        fn open_files_max(&self) -> Option<usize> {
            self.$f.open_files_max()
        }
    };
    (=> $f:ident.$method:ident($($name:ident: $type:ty),*) -> $result:ty) => {
        fn $method(&self, $($name: $type),*) -> $crate::Result<$result> {
            self.$f.$method($($name),*)
        }
    };
}
