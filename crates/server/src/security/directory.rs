//! The users and roles of a server. They are read from the store once, and again after a change.

use super::action::Action;
use super::built_in;
use super::name::{ADMIN, EXTERNAL, Name};
use super::privilege::{Need, Privileges};
use super::records::{Role, User};
use crate::error::{CommandError, CommandResult};
use alluvium::{Collection, Database, Durability, Map, Value};
use alluvium_env::sync::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The format version of users, which MongoDB's tools read.
pub(crate) const SCHEMA_VERSION: i32 = 5;

/// The users and roles of the store.
pub(crate) struct Directory {
    db: Database,
    /// The users and roles that were read last; `None` after a change. A reader that finds `None` keeps the lock while
    /// it reads them.
    content: Mutex<Option<Arc<Content>>>,
    /// Locked while a thread changes users or roles, from reading to writing.
    changing: Mutex<()>,
    has_users: AtomicBool,
    rules: Rules,
}

/// The settings of the server that concern users.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// True if commands need a login after the first user was created.
    pub logins: bool,
    /// True if users of `$external` can log in, because the server verifies certificates.
    pub certificates: bool,
}

/// The consequences of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changed {
    /// True if every connection needs a login from now on.
    pub closes: bool,
}

/// All users and roles.
#[derive(Default)]
pub(crate) struct Content {
    /// The users by their names.
    pub users: BTreeMap<Name, User>,
    /// The roles that are not built in, by their names.
    pub roles: BTreeMap<Name, Role>,
    /// The cached privileges of users who have run commands.
    privileges: Mutex<HashMap<Name, Arc<Privileges>>>,
}

/// A change to users or roles.
pub(crate) enum Change {
    /// Writes a user.
    Put(User),
    /// Removes a user.
    Remove(Name),
    /// Writes a role.
    PutRole(Role),
    /// Removes a role.
    RemoveRole(Name),
}

impl Change {
    /// The name of the user or the role.
    pub(crate) fn name(&self) -> &Name {
        match self {
            Self::Put(user) => &user.name,
            Self::PutRole(role) => &role.name,
            Self::Remove(name) | Self::RemoveRole(name) => name,
        }
    }
}

impl Directory {
    /// Reads the users and roles.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn open(db: &Database, rules: Rules) -> CommandResult<Self> {
        let directory = Self {
            db: db.clone(),
            content: Mutex::new(None),
            changing: Mutex::new(()),
            has_users: AtomicBool::new(false),
            rules,
        };
        directory.content()?;
        Ok(directory)
    }

    /// True if any user exists, even one with a damaged document.
    pub(crate) fn has_users(&self) -> bool {
        self.has_users.load(Ordering::Acquire)
    }

    fn collection(&self, name: &str) -> Collection {
        self.db.logical_database(ADMIN).collection(name).with_durability(Durability::Sync)
    }

    fn documents(&self, name: &str) -> CommandResult<Vec<Map>> {
        let mut documents = Vec::new();
        for document in self.collection(name).find(Map::new()).run()? {
            documents.push(document?.to_map().map_err(alluvium::Error::from)?);
        }
        Ok(documents)
    }

    /// The users and roles.
    ///
    /// # Errors
    /// Errors of reading. Damaged documents are logged and skipped.
    pub(crate) fn content(&self) -> CommandResult<Arc<Content>> {
        let mut cached = self.content.lock();
        if let Some(content) = &*cached {
            return Ok(Arc::clone(content));
        }
        let mut content = Content::default();
        let users = self.documents("system.users")?;
        for document in &users {
            match User::from_map(document) {
                Ok(user) => drop(content.users.insert(user.name.clone(), user)),
                Err(error) => log::error!("a user in admin.system.users cannot log in: {error}"),
            }
        }
        for document in self.documents("system.roles")? {
            match Role::from_map(&document) {
                Ok(role) => drop(content.roles.insert(role.name.clone(), role)),
                Err(error) => log::error!("a role in admin.system.roles is ignored: {error}"),
            }
        }
        self.has_users.store(!users.is_empty(), Ordering::Release);
        let content = Arc::new(content);
        *cached = Some(Arc::clone(&content));
        Ok(content)
    }

    /// Changes users and roles. `plan` makes the changes from the present users and roles. All changes are on the disk
    /// when this function returns. A crash may keep only the first changes; therefore a plan revokes privileges first,
    /// and grants privileges last.
    ///
    /// # Errors
    /// Error 20 if no user is left who can administer users; errors of the plan, and of reading and writing.
    pub(crate) fn change(&self, plan: impl FnOnce(&Content) -> CommandResult<Vec<Change>>) -> CommandResult<Changed> {
        let _changing = self.changing.lock();
        let content = self.content()?;
        let changes = plan(&content)?;
        let had_users = self.has_users();
        if self.rules.logins {
            content.check_administrator(had_users, &changes, self.rules.certificates)?;
        }
        let mut written = Ok(());
        for change in changes {
            written = self.write(change);
            if written.is_err() {
                break;
            }
        }
        *self.content.lock() = None;
        self.content()?;
        written?;
        Ok(Changed { closes: self.rules.logins && !had_users && self.has_users() })
    }

    fn write(&self, change: Change) -> CommandResult<()> {
        let (users, roles) = (self.collection("system.users"), self.collection("system.roles"));
        match change {
            Change::Put(user) => {
                let version = self.collection("system.version");
                if version.get(Value::from("authSchema"))?.is_none() {
                    version.put("authSchema", Map::from([("currentVersion", SCHEMA_VERSION)]))?;
                }
                users.put(user.name.id(), user.to_map())?;
            }
            Change::Remove(name) => users.delete(name.id())?,
            Change::PutRole(role) => roles.put(role.name.id(), role.to_map())?,
            Change::RemoveRole(name) => roles.delete(name.id())?,
        }
        Ok(())
    }
}

impl Content {
    /// Checks that the users include an administrator after these changes, if users have to log in. An administrator is
    /// a user of `admin` who can create users and grant roles. If there was no administrator before, every change is
    /// allowed.
    fn check_administrator(&self, had_users: bool, changes: &[Change], certificates: bool) -> CommandResult<()> {
        if had_users && !self.has_administrator(certificates) {
            return Ok(());
        }
        let after = self.after(changes);
        if after.users.is_empty() || after.has_administrator(certificates) {
            return Ok(());
        }
        let message = match had_users {
            true => {
                "no user would be left who can administer users: give another user of admin the role root or \
                 userAdminAnyDatabase first"
            }
            false => {
                "the first user has to be one of admin with the role root or userAdminAnyDatabase, since every connection \
                 needs a login as soon as there is a user"
            }
        };
        Err(CommandError::illegal_operation(message))
    }

    /// The users and roles after these changes.
    fn after(&self, changes: &[Change]) -> Self {
        let mut after = Self { users: self.users.clone(), roles: self.roles.clone(), ..Self::default() };
        for change in changes {
            match change {
                Change::Put(user) => drop(after.users.insert(user.name.clone(), user.clone())),
                Change::Remove(name) => drop(after.users.remove(name)),
                Change::PutRole(role) => drop(after.roles.insert(role.name.clone(), role.clone())),
                Change::RemoveRole(name) => drop(after.roles.remove(name)),
            }
        }
        after
    }

    /// True if there is a user who can log in and can grant every right to every user.
    fn has_administrator(&self, certificates: bool) -> bool {
        let needs = [Action::CreateUser, Action::GrantRole].map(|action| Need::database(ADMIN, action));
        self.users.values().any(|user| {
            let can_log_in = user.name.db == ADMIN || certificates && user.name.db == EXTERNAL;
            can_log_in && {
                let privileges = self.privileges_of_roles(&user.roles);
                needs.iter().all(|need| privileges.allow(need))
            }
        })
    }

    /// The user with a name.
    ///
    /// # Errors
    /// Error 11 if the user does not exist.
    pub(crate) fn user(&self, name: &Name) -> CommandResult<&User> {
        let missing = || {
            CommandError::new(
                11,
                "UserNotFound",
                format!("Could not find user \"{}\" for db \"{}\"", name.name, name.db),
            )
        };
        self.users.get(name).ok_or_else(missing)
    }

    /// The role with a name. Built-in roles are refused.
    ///
    /// # Errors
    /// Error 31 if the role does not exist, error 55 for a built-in role.
    pub(crate) fn role(&self, name: &Name) -> CommandResult<&Role> {
        if built_in::privileges(name).is_some() {
            let message = format!("{name} is a built-in role and cannot be modified");
            return Err(CommandError::new(55, "InvalidRoleModification", message));
        }
        self.roles.get(name).ok_or_else(|| missing_role(name))
    }

    /// Checks that roles exist.
    ///
    /// # Errors
    /// Error 31 for a role that does not exist.
    pub(crate) fn check_roles(&self, roles: &[Name]) -> CommandResult<()> {
        let exists = |role: &Name| self.roles.contains_key(role) || built_in::privileges(role).is_some();
        match roles.iter().find(|role| !exists(role)) {
            Some(role) => Err(missing_role(role)),
            None => Ok(()),
        }
    }

    /// The roles, and all roles that they inherit from.
    pub(crate) fn inherited(&self, roles: &[Name]) -> BTreeSet<Name> {
        let (mut found, mut open) = (BTreeSet::new(), roles.to_vec());
        while let Some(role) = open.pop() {
            if let Some(known) = self.roles.get(&role) {
                open.extend(known.roles.iter().filter(|role| !found.contains(*role)).cloned());
            }
            found.insert(role);
        }
        found
    }

    /// The privileges of roles, with inherited privileges. A role that does not exist has no privileges.
    pub(crate) fn privileges_of_roles(&self, roles: &[Name]) -> Privileges {
        let mut privileges = Privileges::default();
        for role in self.inherited(roles) {
            if let Some(own) = built_in::privileges(&role) {
                privileges.add(own);
            } else if let Some(known) = self.roles.get(&role) {
                privileges.add(known.privileges.list().iter().cloned());
            }
        }
        privileges
    }

    /// The privileges of a user; `None` if the user does not exist any more, or if a new user with the same name
    /// exists.
    pub(crate) fn privileges(&self, name: &Name, id: &[u8]) -> Option<Arc<Privileges>> {
        let user = self.users.get(name).filter(|user| user.id == id)?;
        let mut known = self.privileges.lock();
        if let Some(privileges) = known.get(name) {
            return Some(Arc::clone(privileges));
        }
        let privileges = Arc::new(self.privileges_of_roles(&user.roles));
        known.insert(name.clone(), Arc::clone(&privileges));
        Some(privileges)
    }
}

fn missing_role(name: &Name) -> CommandError {
    CommandError::new(31, "RoleNotFound", format!("Could not find role: {name}"))
}
