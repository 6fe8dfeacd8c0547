/// What went wrong in the store, told to the author of the code that asked for it.
///
/// `code` is stable and meant for programs, `message` is a sentence for people: what was wrong,
/// where, and what would be right.
package struct StoreError: Error, Hashable, Sendable {
    /// A stable, open set of error codes; the spelling is what scripts see in `err.code`.
    package struct Code: RawRepresentable, Hashable, Sendable {
        /// The spelling that scripts compare with.
        package let rawValue: String

        /// Makes a code from its spelling.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }
    }

    /// The stable code.
    package let code: Code

    /// A sentence with the names and values that matter.
    package let message: String

    /// Makes an error.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension StoreError.Code {
    /// A change was attempted outside a write transaction.
    package static let notInWrite = Self(rawValue: "not_in_write")
    /// A write transaction is already open, or something is not allowed inside one.
    package static let alreadyInWrite = Self(rawValue: "already_in_write")
    /// An object with this primary key exists.
    package static let duplicateKey = Self(rawValue: "duplicate_key")
    /// A required property was given no value and has no default.
    package static let missingValue = Self(rawValue: "missing_value")
    /// A value has a type that the property cannot hold.
    package static let typeMismatch = Self(rawValue: "type_mismatch")
    /// The schema has no class of this name.
    package static let unknownClass = Self(rawValue: "unknown_class")
    /// The class has no property of this name.
    package static let unknownProperty = Self(rawValue: "unknown_property")
    /// The object was deleted, or belongs to another store.
    package static let invalidObject = Self(rawValue: "invalid_object")
    /// An argument cannot be used here.
    package static let invalidArgument = Self(rawValue: "invalid_argument")
    /// An index lies outside the collection.
    package static let outOfRange = Self(rawValue: "out_of_range")
    /// A store was used on a thread that does not own it.
    package static let wrongThread = Self(rawValue: "wrong_thread")
    /// A frozen value cannot be changed or observed.
    package static let frozen = Self(rawValue: "frozen")
    /// The store was opened read-only.
    package static let readOnly = Self(rawValue: "read_only")
    /// A predicate or a key path cannot be understood.
    package static let invalidQuery = Self(rawValue: "invalid_query")
    /// A schema contradicts itself.
    package static let invalidSchema = Self(rawValue: "invalid_schema")
    /// The file's schema differs in a way that needs a migration.
    package static let migrationNeeded = Self(rawValue: "migration_needed")
    /// The file has a higher schema version than was asked for.
    package static let versionTooLow = Self(rawValue: "version_too_low")
    /// The file is damaged, or is no store at all.
    package static let fileCorrupt = Self(rawValue: "file_corrupt")
    /// The file was written by a newer Moonpool.
    package static let fileFormatTooNew = Self(rawValue: "file_format_too_new")
    /// The disk, or the room reserved for the file, is full.
    package static let diskFull = Self(rawValue: "disk_full")
    /// More versions are pinned, or more readers are active, than the file allows.
    package static let tooManyVersions = Self(rawValue: "too_many_versions")
    /// The store was closed.
    package static let closed = Self(rawValue: "closed")
    /// The running code was interrupted.
    package static let interrupted = Self(rawValue: "interrupted")
    /// A limit set by the host was reached.
    package static let limitExceeded = Self(rawValue: "limit_exceeded")
}

extension StoreError: CustomStringConvertible {
    /// The message, followed by the code.
    package var description: String { "\(message) (\(code.rawValue))" }
}
