/// The codes of errors: `err.code` in Lua.
package enum ErrorCode: String, Sendable, CaseIterable {
    case notInWrite = "not_in_write"
    case alreadyInWrite = "already_in_write"
    case duplicateKey = "duplicate_key"
    case missingValue = "missing_value"
    case typeMismatch = "type_mismatch"
    case unknownClass = "unknown_class"
    case unknownProperty = "unknown_property"
    case invalidObject = "invalid_object"
    case invalidArgument = "invalid_argument"
    case outOfRange = "out_of_range"
    case wrongThread = "wrong_thread"
    case frozen
    case readOnly = "read_only"
    case invalidQuery = "invalid_query"
    case invalidSchema = "invalid_schema"
    case migrationNeeded = "migration_needed"
    case versionTooLow = "version_too_low"
    case fileCorrupt = "file_corrupt"
    case fileFormatTooNew = "file_format_too_new"
    case diskFull = "disk_full"
    case tooManyVersions = "too_many_versions"
    case closed
    case interrupted
    case limitExceeded = "limit_exceeded"

    /// One sentence: what has happened.
    package var summary: String {
        switch self {
        case .notInWrite: "Something was changed outside of a write transaction; use store:write."
        case .alreadyInWrite: "Something cannot be done while a write transaction is open."
        case .duplicateKey: "An object with this primary key exists already."
        case .missingValue: "A property that must have a value was given none."
        case .typeMismatch: "A value is not of the type that is wanted."
        case .unknownClass: "The store has no class of this name."
        case .unknownProperty: "The class has no property, or the value no member, of this name."
        case .invalidObject: "The object was deleted, or belongs to another store."
        case .invalidArgument: "An argument or an option is wrong."
        case .outOfRange: "An index lies outside of the list."
        case .wrongThread: "A store is used on a thread that has not opened it."
        case .frozen: "A version that never changes was to be changed or observed."
        case .readOnly: "The store was opened for reading only."
        case .invalidQuery: "A predicate, an order or a key path cannot be understood."
        case .invalidSchema: "A schema contradicts itself."
        case .migrationNeeded:
            "The file's schema differs; raise schema_version or give a migration."
        case .versionTooLow: "The file has a higher schema version than was asked for."
        case .fileCorrupt: "The file is no store, or it is damaged."
        case .fileFormatTooNew: "The file was written by a newer Moonpool."
        case .diskFull: "There is no more room on the disk; the write was rolled back."
        case .tooManyVersions: "More old versions are held than max_live_versions allows."
        case .closed: "The store was closed."
        case .interrupted: "The script was stopped, as by Ctrl-C."
        case .limitExceeded: "The script has used more memory, time or instructions than it may."
        }
    }
}
