import Synchronization
import SystemCalls

/// Runs user code in the middle of a store operation, during which the thread must not change any store.
///
/// The operation has validated the values that it will write. A change by the user code would invalidate this
/// validation, so every write, the start and end of transactions, schema changes, and closing throw `already_in_write`
/// on this thread. Reading is allowed.
///
/// Cost outside a section: one relaxed load for each check.
package enum ReadOnlySection {
    /// The number of sections that are running on all threads.
    private static let count = Atomic<Int>(0)
    /// The titles of the running sections of each thread, the innermost last.
    private static let titles = Mutex<[ThreadIdentity: [String]]>([:])

    /// Whether a section is running on the calling thread.
    package static var isActive: Bool { title != nil }

    /// Runs `body` as a section; `title` names the code in errors, such as "the default function of 'Dog.name'".
    package static func run<Result>(
        _ title: String, _ body: () throws -> Result
    ) rethrows -> Result {
        let thread = ThreadIdentity.current
        titles.withLock { $0[thread, default: []].append(title) }
        count.add(1, ordering: .relaxed)
        defer {
            count.subtract(1, ordering: .relaxed)
            titles.withLock { titles in
                titles[thread]?.removeLast()
                if titles[thread]?.isEmpty == true { titles[thread] = nil }
            }
        }
        return try body()
    }

    /// Throws `already_in_write` if a section is running on the calling thread.
    @inline(__always)
    package static func check() throws {
        if count.load(ordering: .relaxed) > 0 { try refuse() }
    }

    @inline(never)
    private static func refuse() throws {
        guard let title else { return }
        throw StoreError(
            .alreadyInWrite,
            "\(title) runs in the middle of a store operation: it can read stores, but it cannot change "
                + "or close them, and it cannot wait")
    }

    private static var title: String? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        return titles.withLock { $0[.current]?.last }
    }
}
