//! Calls into WiredTiger, through the functions of `shim.c`.
//!
//! Safety, for every `unsafe` here: the functions are declared as `shim.c` defines them; pointers to a connection or a
//! session come from a successful open and are used until its close alone, which `Drop` does once; a session borrows
//! its connection and is used by one thread at a time, as WiredTiger asks (it is neither `Send` nor `Sync`, while a
//! connection may be used by any thread at once); bytes handed in are read before the call returns; those handed out
//! stay as they are until their cursor moves, which the borrow of the session forbids while they are looked at.
#![allow(unsafe_code)]

use alluvium_workbench::peer::{Change, Failure};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;

const NOT_FOUND: c_int = -31803;
const ROLLBACK: c_int = -31800;

#[repr(C)]
struct RawConnection(c_void);
#[repr(C)]
struct RawSession(c_void);

unsafe extern "C" {
    fn peer_open(home: *const c_char, config: *const c_char, connection: *mut *mut RawConnection) -> c_int;
    fn peer_close(connection: *mut RawConnection) -> c_int;
    fn peer_error(code: c_int) -> *const c_char;
    fn peer_create(connection: *mut RawConnection, uri: *const c_char, config: *const c_char) -> c_int;
    fn peer_checkpoint(connection: *mut RawConnection) -> c_int;
    fn peer_session_open(
        connection: *mut RawConnection,
        uris: *const *const c_char,
        count: c_int,
        session: *mut *mut RawSession,
    ) -> c_int;
    fn peer_session_close(session: *mut RawSession) -> c_int;
    fn peer_begin(session: *mut RawSession) -> c_int;
    fn peer_commit(session: *mut RawSession) -> c_int;
    fn peer_rollback(session: *mut RawSession) -> c_int;
    fn peer_insert(
        session: *mut RawSession,
        tree: c_int,
        key: *const c_void,
        key_len: usize,
        value: *const c_void,
        value_len: usize,
    ) -> c_int;
    fn peer_seek(session: *mut RawSession, tree: c_int, key: *const c_void, len: usize) -> c_int;
    fn peer_next(session: *mut RawSession, tree: c_int) -> c_int;
    fn peer_key(session: *mut RawSession, tree: c_int, key: *mut *const c_void, len: *mut usize) -> c_int;
    fn peer_value(session: *mut RawSession, tree: c_int, value: *mut *const c_void, len: *mut usize) -> c_int;
    fn peer_search(session: *mut RawSession, tree: c_int, key: *const c_void, len: usize) -> c_int;
    fn peer_remove(session: *mut RawSession, tree: c_int, key: *const c_void, len: usize) -> c_int;
    fn peer_reset(session: *mut RawSession, tree: c_int) -> c_int;
}

fn check(code: c_int) -> Result<(), Failure> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the answer is a string that lives as long as the process, or until this thread asks again.
    let text = unsafe { CStr::from_ptr(peer_error(code)) };
    Err(format!("WiredTiger: {} ({code})", text.to_string_lossy()).into())
}

/// True if there is a key.
fn found(code: c_int) -> Result<bool, Failure> {
    if code == NOT_FOUND { Ok(false) } else { check(code).map(|()| true) }
}

/// An open database.
pub(super) struct Connection(*mut RawConnection);

// SAFETY: "WT_CONNECTION handles may be shared by threads", as the module's head says.
unsafe impl Send for Connection {}
// SAFETY: likewise.
unsafe impl Sync for Connection {}

impl Connection {
    /// Opens the database in the directory `home`.
    pub fn open(home: &Path, config: &str) -> Result<Self, Failure> {
        let home = CString::new(home.as_os_str().as_encoded_bytes())?;
        let config = CString::new(config)?;
        let mut connection = ptr::null_mut();
        // SAFETY: two strings that end with 0, and a place for the answer.
        check(unsafe { peer_open(home.as_ptr(), config.as_ptr(), &raw mut connection) })?;
        Ok(Self(connection))
    }

    /// Creates a table.
    pub fn create(&self, uri: &str, config: &str) -> Result<(), Failure> {
        let (uri, config) = (CString::new(uri)?, CString::new(config)?);
        // SAFETY: see the module's head.
        check(unsafe { peer_create(self.0, uri.as_ptr(), config.as_ptr()) })
    }

    /// Writes all that is in memory.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        // SAFETY: see the module's head.
        check(unsafe { peer_checkpoint(self.0) })
    }

    /// A session with a cursor on each of these tables.
    pub fn session(&self, uris: &[String]) -> Result<RawTrees<'_>, Failure> {
        let uris: Vec<CString> = uris.iter().map(|uri| CString::new(uri.as_str())).collect::<Result<_, _>>()?;
        let pointers: Vec<*const c_char> = uris.iter().map(|uri| uri.as_ptr()).collect();
        let mut session = ptr::null_mut();
        let count = c_int::try_from(pointers.len())?;
        // SAFETY: `count` strings that end with 0; no more than the shim takes, or it refuses.
        check(unsafe { peer_session_open(self.0, pointers.as_ptr(), count, &raw mut session) })?;
        Ok(RawTrees { session, trees: uris.len(), _connection: PhantomData })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: once, and no session is left: they borrow the connection. An error cannot be returned here.
        let _code = unsafe { peer_close(self.0) };
    }
}

/// A session, and a cursor on each of its tables.
pub(super) struct RawTrees<'a> {
    session: *mut RawSession,
    trees: usize,
    _connection: PhantomData<&'a Connection>,
}

impl RawTrees<'_> {
    fn tree(&self, tree: usize) -> c_int {
        assert!(tree < self.trees, "the session has no cursor on the table {tree}");
        tree as c_int
    }

    /// Puts all pairs in one transaction; again, if WiredTiger asks for that.
    pub fn insert<'p, I: Iterator<Item = (usize, &'p [u8], &'p [u8])>>(
        &mut self,
        pairs: impl Fn() -> I,
    ) -> Result<(), Failure> {
        loop {
            // SAFETY: see the module's head; so for all calls below.
            check(unsafe { peer_begin(self.session) })?;
            let code = pairs()
                .map(|(tree, key, value)| {
                    let (key_at, value_at) = (key.as_ptr().cast(), value.as_ptr().cast());
                    let tree = self.tree(tree);
                    // SAFETY: slices, as long as they say.
                    unsafe { peer_insert(self.session, tree, key_at, key.len(), value_at, value.len()) }
                })
                .find(|code| *code != 0)
                // SAFETY: the transaction is open, and the commit ends it either way.
                .unwrap_or_else(|| unsafe { peer_commit(self.session) });
            if code == 0 {
                return Ok(());
            }
            // SAFETY: after a failed commit there is no transaction, and WiredTiger says so, which changes nothing.
            let _code = unsafe { peer_rollback(self.session) };
            if code != ROLLBACK {
                return check(code);
            }
        }
    }

    /// Puts one pair, as a transaction of its own.
    pub fn put(&mut self, tree: usize, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        check(self.put_raw(tree, key, value))
    }

    fn put_raw(&mut self, tree: usize, key: &[u8], value: &[u8]) -> c_int {
        let (key_at, value_at) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: slices, as long as they say.
        unsafe { peer_insert(self.session, self.tree(tree), key_at, key.len(), value_at, value.len()) }
    }

    /// Removes a key that exists.
    pub fn remove(&mut self, tree: usize, key: &[u8]) -> Result<(), Failure> {
        // SAFETY: a slice, as long as it says.
        found(unsafe { peer_remove(self.session, self.tree(tree), key.as_ptr().cast(), key.len()) }).map(|_| ())
    }

    /// Puts what `change` makes of the value of a key, in one transaction; again, if WiredTiger asks for that. False
    /// if the key does not exist.
    pub fn update(&mut self, tree: usize, key: &[u8], change: &mut Change<'_>) -> Result<bool, Failure> {
        let mut new = Vec::new();
        loop {
            // SAFETY: see the module's head; so for all calls below.
            check(unsafe { peer_begin(self.session) })?;
            let changed = self.search(tree, key).and_then(|exists| {
                new.clear();
                if exists { change(self.value(tree)?, &mut new).map(|()| true) } else { Ok(false) }
            });
            let code = match changed {
                Ok(true) => match self.put_raw(tree, key, &new) {
                    // SAFETY: the transaction is open, and the commit ends it either way.
                    0 => unsafe { peer_commit(self.session) },
                    code => code,
                },
                other => {
                    // SAFETY: the transaction is open.
                    check(unsafe { peer_rollback(self.session) })?;
                    return other;
                }
            };
            if code == 0 {
                return Ok(true);
            }
            // SAFETY: after a failed commit there is no transaction, and WiredTiger says so, which changes nothing.
            let _code = unsafe { peer_rollback(self.session) };
            if code != ROLLBACK {
                return check(code).map(|()| false);
            }
        }
    }

    /// Moves to the first key at or above this one; false if there is none.
    pub fn seek(&mut self, tree: usize, key: &[u8]) -> Result<bool, Failure> {
        // SAFETY: a slice, as long as it says.
        found(unsafe { peer_seek(self.session, self.tree(tree), key.as_ptr().cast(), key.len()) })
    }

    /// Moves to the next key; false if there is none.
    pub fn next(&mut self, tree: usize) -> Result<bool, Failure> {
        // SAFETY: see the module's head.
        found(unsafe { peer_next(self.session, self.tree(tree)) })
    }

    /// Moves to this key; false if it is not there.
    pub fn search(&mut self, tree: usize, key: &[u8]) -> Result<bool, Failure> {
        // SAFETY: a slice, as long as it says.
        found(unsafe { peer_search(self.session, self.tree(tree), key.as_ptr().cast(), key.len()) })
    }

    /// The key that the cursor is on.
    pub fn key(&self, tree: usize) -> Result<&[u8], Failure> {
        let (mut at, mut len) = (ptr::null(), 0);
        // SAFETY: places for the answer.
        check(unsafe { peer_key(self.session, self.tree(tree), &raw mut at, &raw mut len) })?;
        // SAFETY: the bytes stay until the cursor moves, for which the session would be borrowed mutably.
        Ok(if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at.cast(), len) } })
    }

    /// The value that the cursor is on.
    pub fn value(&self, tree: usize) -> Result<&[u8], Failure> {
        let (mut at, mut len) = (ptr::null(), 0);
        // SAFETY: places for the answer.
        check(unsafe { peer_value(self.session, self.tree(tree), &raw mut at, &raw mut len) })?;
        // SAFETY: as for the key.
        Ok(if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at.cast(), len) } })
    }

    /// Lets go of the place that the cursor is on.
    pub fn reset(&mut self, tree: usize) -> Result<(), Failure> {
        // SAFETY: see the module's head.
        check(unsafe { peer_reset(self.session, self.tree(tree)) })
    }
}

impl Drop for RawTrees<'_> {
    fn drop(&mut self) {
        // SAFETY: once. An error cannot be returned here.
        let _code = unsafe { peer_session_close(self.session) };
    }
}
