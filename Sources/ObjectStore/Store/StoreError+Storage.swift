import ColumnStorage
import MemoryAccounts

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

    /// Converts an error of the storage; the message names the file.
    package init(_ error: StorageError) {
        let code: Code
        var advice = ""
        switch error.code {
        case .mapFull:
            code = .diskFull
            advice = "; open it with a larger maximum size"
        case .diskFull where error.isOfSizeLimit:
            code = .diskFull
            advice = "; raise the limit with ulimit -f and retry; the write was rolled back"
        case .diskFull:
            code = .diskFull
            advice = "; free disk space and retry; the write was rolled back"
        case .memoryLimit: code = .limitExceeded
        case .interrupted: code = .interrupted
        case .readersFull:
            code = .tooManyVersions
            advice =
                "; a file has at most 4096 snapshots at the same time: close stores and release frozen versions"
        case .notAStore: code = .fileCorrupt
        case .empty:
            code = .fileCorrupt
            advice = "; open it for writing once to make it a store"
        case .olderFormat:
            code = .invalidArgument
            advice =
                ", which uses an older file format; export the store with 'moonpool export' of that build, then import the result with this one"
        case .severalNames:
            code = .invalidArgument
            advice = "; remove the other names, or copy the file with cp and open the copy"
        case .foreignCompanion:
            code = .invalidArgument
            advice = "; move or remove it"
        case .procMissing:
            code = .invalidArgument
            advice = "; mount it with 'mount -t proc proc /proc'"
        case .damaged where error.isOfLockFile:
            code = .fileCorrupt
            advice = "; close the store in all processes, then open it again"
        case .damaged: code = .fileCorrupt
        case .notCopied:
            code = .fileCorrupt
            advice =
                "; export the intact classes with 'moonpool export --class NAME', or copy the damaged file itself with cp"
        case .needsRecovery:
            code = .fileCorrupt
            advice = "; open it for writing once"
        case .newerFormat:
            code = .fileFormatTooNew
            advice = " of Moonpool; update to open it"
        case .permission where error.isOfWriting:
            code = .invalidArgument
            advice = "; it can be opened for reading only"
        case .readOnly: code = .readOnly
        case .writeInProgress: code = .alreadyInWrite
        case .closed: code = .closed
        case .exists where error.isOfDestination, .reservedName:
            code = .invalidArgument
            advice = "; choose another name"
        case .exists:
            code = .invalidArgument
            advice = "; choose another name, or allow it to be overwritten"
        case .inUse:
            code = .invalidArgument
            advice = "; close it there first"
        case .replaced:
            code = .fileReplaced
            advice =
                "; nothing was written to it: close it in all processes, put the file that you want to keep at its place, "
                + "then open it again"
        case .needsReopening:
            code = .inputOutput
            advice = "; reopen it: close it in this process, then open it again"
        case .system where error.isOfDevice: code = .inputOutput
        default: code = .invalidArgument
        }
        self.init(code, error.message + advice)
    }
}
