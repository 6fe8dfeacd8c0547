/// The codes of errors: `err.code` in Lua.
package enum ErrorCode: String, Sendable, CaseIterable {
    case notInWrite = "not_in_write"
    case alreadyInWrite = "already_in_write"
    case duplicateKey = "duplicate_key"
    case missingValue = "missing_value"
    case typeMismatch = "type_mismatch"
    case invalidValue = "invalid_value"
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
    case timedOut = "timed_out"
    case unavailable

    /// A one-sentence description.
    package var summary: String {
        switch self {
        case .notInWrite: "A change requires a write transaction; use store:write."
        case .alreadyInWrite: "The operation is not possible while a write transaction is open."
        case .duplicateKey: "An object with this primary key or unique value already exists."
        case .missingValue: "A required property has no value."
        case .typeMismatch: "A value has the wrong type."
        case .invalidValue: "A value breaks a rule of its property; the write was rolled back."
        case .unknownClass: "The store has no class with this name."
        case .unknownProperty:
            "The class has no property, or the value has no member, with this name."
        case .invalidObject: "The object was deleted or belongs to another store."
        case .invalidArgument: "An argument or an option is not valid."
        case .outOfRange: "An index is outside the bounds of a collection."
        case .wrongThread: "A store was used on a thread that did not open it."
        case .frozen: "A frozen store, object or collection cannot be changed or observed."
        case .readOnly: "The store was opened read-only."
        case .invalidQuery: "A predicate, a sort order or a key path is not valid."
        case .invalidSchema: "A schema is not valid."
        case .migrationNeeded:
            "The schema of the file differs; raise schema_version or pass a migration function."
        case .versionTooLow: "The file has a higher schema version than requested."
        case .fileCorrupt: "The file is damaged or is not a store."
        case .fileFormatTooNew: "The file was written by a newer version of Moonpool."
        case .diskFull: "The disk is full; the write was rolled back."
        case .tooManyVersions: "More versions are in use than max_live_versions allows."
        case .closed: "The store was closed."
        case .interrupted: "The script was interrupted, for example by Ctrl-C."
        case .limitExceeded: "The script exceeded its limit of memory, time or instructions."
        case .timedOut: "A service did not reply in time; it may still handle the request later."
        case .unavailable:
            "No server can be reached, or no service answers requests to the subject."
        }
    }
}
