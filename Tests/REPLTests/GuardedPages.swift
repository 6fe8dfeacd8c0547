import Foundation
import Glibc
import Synchronization

/// Detects accesses to the memory mapping of a file.
///
/// The mapping is made unreadable. The handler of the fault counts the first access of each attempt, makes the mapping
/// readable again, and the reader continues.
enum GuardedPages {
    private static let start = Atomic<UInt>(0)
    private static let length = Atomic<UInt>(0)
    private static let count = Atomic<Int>(0)

    /// Returns the number of mappings of a file that `body` accessed; -1 if the file is not mapped.
    ///
    /// Only one thread can call this at a time.
    static func touched(of file: String, _ body: () -> Void) -> Int {
        let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
        let bounds = maps.split(separator: "\n").filter { $0.hasSuffix(file) }.flatMap { line in
            line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
        }
        guard let low = bounds.min(), let high = bounds.max() else { return -1 }
        start.store(low, ordering: .sequentiallyConsistent)
        length.store(high - low, ordering: .sequentiallyConsistent)
        count.store(0, ordering: .sequentiallyConsistent)
        var action = sigaction()
        action.__sigaction_handler.sa_sigaction = { _, information, _ in
            let address = UInt(bitPattern: information!.pointee._sifields._sigfault.si_addr)
            let low = GuardedPages.start.load(ordering: .sequentiallyConsistent)
            let size = GuardedPages.length.load(ordering: .sequentiallyConsistent)
            if address >= low, address - low < size {
                GuardedPages.count.add(1, ordering: .sequentiallyConsistent)
                mprotect(UnsafeMutableRawPointer(bitPattern: low), Int(size), PROT_READ)
            } else {
                // A fault of another kind occurs again, and ends the process.
                signal(SIGSEGV, SIG_DFL)
            }
        }
        action.sa_flags = SA_SIGINFO
        var before = sigaction()
        sigaction(SIGSEGV, &action, &before)
        mprotect(UnsafeMutableRawPointer(bitPattern: low), Int(high - low), PROT_NONE)
        body()
        mprotect(UnsafeMutableRawPointer(bitPattern: low), Int(high - low), PROT_READ)
        sigaction(SIGSEGV, &before, nil)
        return count.load(ordering: .sequentiallyConsistent)
    }
}
