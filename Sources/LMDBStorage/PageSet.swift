/// The pages of a file that trees and lists of free pages contain.
///
/// In a valid file, each page from the headers to the last page occurs exactly once. A page that occurs twice would be
/// overwritten while it is in use, and LMDB refuses to copy a file in which a page does not occur.
final class PageSet {
    /// The number of pages that exist in the file and that the version can use.
    let pageCount: UInt64
    private let lastPage: UInt64
    private let words: UnsafeMutablePointer<UInt64>
    private var count: UInt64 = 0
    /// The free pages after the end of the file.
    ///
    /// One transaction has allocated and freed them, so they were never written.
    private var beyond: [UInt64] = []

    /// Creates a set with the two headers; the caller has compared the header with the file's size.
    init(pageCount: UInt64, lastPage: UInt64) {
        self.pageCount = pageCount
        self.lastPage = lastPage
        let size = Int(pageCount / 64) + 1
        words = .allocate(capacity: size)
        words.initialize(repeating: 0, count: size)
        for header in 0..<min(2, pageCount) { _ = insert(header) }
    }

    deinit { words.deallocate() }

    /// Adds a page that exists; returns false if it is already in the set.
    @inline(__always)
    func insert(_ number: UInt64) -> Bool {
        let index = Int(number >> 6)
        let bit: UInt64 = 1 << (number & 63)
        guard words[index] & bit == 0 else { return false }
        words[index] |= bit
        count += 1
        return true
    }

    /// Whether a range of pages is in the file, after the headers.
    @inline(__always)
    func contains(_ first: UInt64, _ count: UInt64) -> Bool {
        first >= 2 && first < pageCount && count <= pageCount - first
    }

    /// The result of adding a list of free pages.
    enum ListFault {
        case notAList
        /// The list contains a page that does not exist, or its order is wrong.
        case impossible(UInt64)
        case used(UInt64)
    }

    /// Adds the pages of a list of free pages; returns the first error.
    func insertFreePages(_ list: UnsafeRawBufferPointer) -> ListFault? {
        guard let pages = FreePages(list) else { return .notAList }
        var before = lastPage &+ 1
        for number in pages {
            guard number >= 2, number < before else { return .impossible(number) }
            before = number
            if number >= pageCount {
                beyond.append(number)
            } else if !insert(number) {
                return .used(number)
            }
        }
        return nil
    }

    /// Returns the number of pages that are not in the set; nil if a page after the end of the file occurs twice.
    func missingCount() -> UInt64? {
        beyond.sort()
        for (index, number) in beyond.enumerated() where index > 0 && beyond[index - 1] == number {
            return nil
        }
        return lastPage &+ 1 &- count &- UInt64(beyond.count)
    }
}
