import ColumnStorage
import MemoryAccounts

/// An error of the store, described for the author of the calling code.
///
/// `code` is stable and intended for programs. `message` is a sentence with the cause, the location and the solution.
public struct StoreError: Error, Hashable, Sendable {
    /// A stable, open set of error codes; scripts see the spelling in `err.code`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The spelling that scripts see in `err.code`.
        public let rawValue: String

        /// Creates a code from its spelling.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }
    }

    /// The stable code.
    public let code: Code

    /// A sentence with the names and values that matter, in the words of Swift programs.
    public var message: String { message(for: .program) }

    /// The part of the message that is the same for all readers.
    private let text: String
    /// The rest of the message.
    private let detail: Detail?

    /// Creates an error from a code and a message.
    public init(_ code: Code, _ message: String) {
        self.init(code, message, detail: nil)
    }

    private init(_ code: Code, _ text: String, detail: Detail?) {
        self.code = code
        self.text = text
        self.detail = detail
    }
}

extension StoreError {
    /// The author of the code that receives an error.
    package enum Reader {
        /// Writes Swift, and counts from 0.
        case program
        /// Writes Lua, and counts from 1.
        case script
    }

    /// The part of a message that depends on its reader.
    private enum Detail: Hashable {
        /// A position that is outside a collection.
        case position(Int, of: String)
        /// The solution, after the text.
        case advice(program: String, script: String)
        /// The part of a predicate or a path that is not valid.
        case range(line: Int, column: Int, length: Int)
    }

    /// An error with advice that names functions, for both kinds of readers.
    package init(_ code: Code, _ text: String, program: String, script: String) {
        self.init(code, text, detail: .advice(program: program, script: script))
    }

    /// An error with the same advice for both kinds of readers.
    package init(_ code: Code, _ text: String, advice: String) {
        self.init(code, text, program: advice, script: advice)
    }

    /// Returns the error for a position outside a collection, counted from 0.
    ///
    /// With the text `the 5 results`, the message is `index 7 is outside the 5 results`.
    package static func outside(_ position: Int, of collection: String) -> StoreError {
        StoreError(.outOfRange, "", detail: .position(position, of: collection))
    }

    /// The error of a change outside of a write transaction.
    static func needsWrite(_ what: String) -> StoreError {
        StoreError(
            .notInWrite, "\(what) can only be changed in a write transaction",
            program: "make the change in store.write { … }",
            script: "wrap the change in store:write(function() … end)")
    }

    /// The error about an object of a class that was deleted.
    static func deleted(_ className: String) -> StoreError {
        StoreError(
            .invalidObject, "this '\(className)' was deleted",
            program: "check isValid before you use an object that may be deleted",
            script: "check is_valid() before you use an object that may be deleted")
    }

    /// The error of a change to a store that was opened read-only.
    static var readOnlyStore: StoreError {
        StoreError(
            .readOnly, "the store was opened read-only",
            program: "open it without isReadOnly to write",
            script: "open it without read_only to write")
    }

    /// An error in a line of a predicate or a path, with the range in characters; lines and columns count from 1.
    static func fault(
        _ code: Code, _ text: String, line: Int, column: Int, length: Int
    ) -> StoreError {
        StoreError(code, text, detail: .range(line: line, column: column, length: length))
    }

    /// The part of a predicate or a path that is not valid; nil for other errors.
    package var textRange: (line: Int, column: Int, length: Int)? {
        guard case .range(let line, let column, let length) = detail else { return nil }
        return (line, column, length)
    }

    /// Returns the error with a location before its message.
    package func at(_ location: String) -> StoreError {
        StoreError(code, "\(location): \(text)", detail: detail)
    }

    /// Returns the end of the message, which names the fix; nil if the error was created without one.
    package func advice(for reader: Reader) -> String? {
        guard case .advice(let program, let script) = detail else { return nil }
        return reader == .program ? program : script
    }

    /// The message without the advice, for reports that are not about a call.
    var cause: String {
        if case .advice = detail { text } else { message }
    }

    /// Returns the message in the words of a reader.
    package func message(for reader: Reader) -> String {
        switch (detail, reader) {
        case (nil, _), (.range, _): text
        case (.position(let position, let collection), .program):
            "\(text)index \(position) is outside \(collection)"
        case (.position(let position, let collection), .script):
            "\(text)index \(position + 1) is outside \(collection)"
        case (.advice(let advice, _), .program), (.advice(_, let advice), .script):
            "\(text); \(advice)"
        }
    }
}

extension StoreError.Code: CustomStringConvertible {
    /// The text of the code.
    public var description: String { rawValue }
}

extension StoreError.Code {
    /// A change was attempted outside a write transaction.
    public static let notInWrite = Self(rawValue: "not_in_write")
    /// A write transaction is already open, or an operation is not allowed inside one.
    public static let alreadyInWrite = Self(rawValue: "already_in_write")
    /// An object with this primary key already exists.
    public static let duplicateKey = Self(rawValue: "duplicate_key")
    /// A required property was given no value and has no default.
    public static let missingValue = Self(rawValue: "missing_value")
    /// A value has a type that the property cannot store.
    public static let typeMismatch = Self(rawValue: "type_mismatch")
    /// The values of a commit break a rule of the schema.
    public static let invalidValue = Self(rawValue: "invalid_value")
    /// The schema has no class of this name.
    public static let unknownClass = Self(rawValue: "unknown_class")
    /// The class has no property of this name.
    public static let unknownProperty = Self(rawValue: "unknown_property")
    /// A started migration does not allow the change of the schema, or has not converted all objects yet.
    public static let schemaInTransition = Self(rawValue: "schema_in_transition")
    /// An object cannot be converted to the other schema of a started migration.
    public static let conversionFailed = Self(rawValue: "conversion_failed")
    /// The schema has changed, and what the observer observes no longer exists.
    public static let schemaChanged = Self(rawValue: "schema_changed")
    /// The object was deleted, or belongs to another store.
    public static let invalidObject = Self(rawValue: "invalid_object")
    /// An argument is not valid for the call.
    public static let invalidArgument = Self(rawValue: "invalid_argument")
    /// An index is outside the collection.
    public static let outOfRange = Self(rawValue: "out_of_range")
    /// A store was used on a thread that does not own it.
    public static let wrongThread = Self(rawValue: "wrong_thread")
    /// A frozen value cannot be changed or observed.
    public static let frozen = Self(rawValue: "frozen")
    /// The store was opened read-only.
    public static let readOnly = Self(rawValue: "read_only")
    /// Another member of the store's cluster is the writer, or the lease of this one has ended.
    public static let notWriter = Self(rawValue: "not_writer")
    /// A predicate or a key path is not valid.
    public static let invalidQuery = Self(rawValue: "invalid_query")
    /// A schema is not valid.
    public static let invalidSchema = Self(rawValue: "invalid_schema")
    /// The file's schema differs in a way that needs a migration.
    public static let migrationNeeded = Self(rawValue: "migration_needed")
    /// The file has a higher schema version than the one requested.
    public static let versionTooLow = Self(rawValue: "version_too_low")
    /// The file is damaged, or is not a store.
    public static let fileCorrupt = Self(rawValue: "file_corrupt")
    /// Another program has replaced, overwritten or truncated the file while it was open.
    public static let fileReplaced = Self(rawValue: "file_replaced")
    /// The file was written by a newer Moonpool.
    public static let fileFormatTooNew = Self(rawValue: "file_format_too_new")
    /// The disk, or the space reserved for the file, is full.
    public static let diskFull = Self(rawValue: "disk_full")
    /// The device, or the server of the file, has reported an error.
    public static let inputOutput = Self(rawValue: "io_error")
    /// More versions are pinned, or more readers are active, than the file allows.
    public static let tooManyVersions = Self(rawValue: "too_many_versions")
    /// The store was closed.
    public static let closed = Self(rawValue: "closed")
    /// The running code was interrupted.
    public static let interrupted = Self(rawValue: "interrupted")
    /// The operation did not end within its time.
    public static let timedOut = Self(rawValue: "timed_out")
    /// A limit set by the host was reached.
    public static let limitExceeded = Self(rawValue: "limit_exceeded")
    /// The program was built without an optional product that the operation needs.
    public static let unsupported = Self(rawValue: "unsupported")
}

extension StoreError: CustomStringConvertible {
    /// The message, followed by the code.
    public var description: String { "\(message) (\(code.rawValue))" }
}

/// An error of the storage, for modules that do not depend on the storage.
package typealias StorageFailure = StorageError

extension StoreError {
    /// Runs a call of the storage, and converts its errors to store errors.
    static func wrapping<Result>(
        _ call: () throws(StorageError) -> Result
    ) throws(StoreError) -> Result {
        do {
            return try call()
        } catch {
            throw StoreError(error)
        }
    }

    /// Makes one call of the storage, and converts its errors to store errors.
    static func wrapping<Result>(
        _ call: @autoclosure () throws(StorageError) -> Result
    ) throws(StoreError) -> Result {
        try wrapping(call)
    }

    /// Runs an evaluation, and converts errors of the storage to store errors.
    package static func evaluating<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StorageError {
            throw StoreError(error)
        }
    }

    /// Counts steps of work outside of an evaluation, as `Interruption.step` does.
    static func step(_ count: Int = 1) throws(StoreError) {
        try wrapping(Interruption.step(count))
    }

    /// Converts an error of an evaluation.
    package init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as StorageError: self.init(error)
        case let error as MemoryLimitReached: self.init(.limitExceeded, error.description)
        default: self.init(.invalidQuery, String(describing: error))
        }
    }

    /// Whether an evaluation could not be done, so that the same evaluation may succeed in another version.
    var isOfEvaluation: Bool { [.limitExceeded, .fileCorrupt, .interrupted].contains(code) }

    /// Converts an error of the storage, whose message names the file and the solution.
    package init(_ error: StorageError) {
        let code: Code =
            switch error.code {
            case .mapFull, .diskFull: .diskFull
            case .memoryLimit: .limitExceeded
            case .interrupted: .interrupted
            case .readersFull: .tooManyVersions
            case .notAStore, .empty, .damaged, .notCopied, .needsRecovery: .fileCorrupt
            case .newerFormat: .fileFormatTooNew
            case .readOnly: .readOnly
            case .writeInProgress: .alreadyInWrite
            case .closed: .closed
            case .replaced: .fileReplaced
            case _ where error.isOfDevice: .inputOutput
            default: .invalidArgument
            }
        self.init(code, error.message)
    }
}

extension StoreError {
    /// Decodes data of a file; errors contain `what`, the description of the data, and the name of the file.
    static func decoding<Result>(
        _ bytes: [UInt8], _ what: String, of file: ColumnFile,
        _ decode: (inout ByteReader) throws -> Result
    ) throws -> Result {
        do {
            return try ByteReader.decode(bytes, of: what, decode)
        } catch is DamagedEncoding {
            throw StoreError(
                .fileCorrupt, "'\(file.path)': the \(what) stored in the file is damaged")
        } catch let error as StoreError {
            throw error.at("'\(file.path)'")
        }
    }
}

extension Optional {
    /// Returns the value, or throws an error if there is none.
    func orThrow<Failure: Error>(
        _ error: @autoclosure () -> Failure
    ) throws(Failure) -> Wrapped {
        guard let self else { throw error() }
        return self
    }
}
