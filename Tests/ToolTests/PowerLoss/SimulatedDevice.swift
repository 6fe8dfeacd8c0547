/// A folder on a device that can lose or tear all writes that were not flushed.
///
/// A write reaches the device in units of pages, in any order and possibly partially, until a later flush of its file
/// has ended. Names reach the device in order, at the latest when their folder is flushed.
struct SimulatedDevice {
    private var files: [UInt64: SimulatedFile] = [:]
    /// The file of each name on the device.
    private var names: [String: SimulatedFile]
    /// Changes to names since the last flush of the folder; nil removes a name.
    private var pendingNames: [(index: Int, name: String, file: SimulatedFile?)] = []
    private var folders: Set<UInt64> = []
    /// The start of each flush.
    private var flushes: [Flush: Int] = [:]
    /// The greatest acknowledged number of each million.
    private(set) var acknowledged: [Int: Int] = [:]

    private struct Flush: Hashable {
        var process: UInt32
        var file: UInt64
        var number: UInt64
    }

    /// `present` contains the initial files of the device, by name.
    init(_ present: [String: (inode: UInt64, bytes: [UInt8])]) {
        names = [:]
        for (name, file) in present {
            let simulated = SimulatedFile(file.bytes)
            files[file.inode] = simulated
            names[name] = simulated
        }
    }

    mutating func apply(_ operation: WriteTrace.Operation, at index: Int) {
        let file = files[operation.file]
        switch operation.kind {
        case .open: open(operation, at: index)
        case .write: file?.write(operation.bytes, at: Int(operation.first), index)
        case .writeThrough:
            file?.write(operation.bytes, at: Int(operation.first), index)
            file?.flush(before: index + 1, from: Int(operation.first), count: operation.bytes.count)
        case .setSize: file?.setSize(Int(operation.first), index)
        case .extend:
            if let file, file.size < Int(operation.first) {
                file.setSize(Int(operation.first), index)
            }
        case .beginFlush: flushes[flush(operation)] = index
        case .endFlush:
            guard let begin = flushes.removeValue(forKey: flush(operation)) else { return }
            if folders.contains(operation.file) {
                flushNames(before: begin)
            } else {
                file?.flush(before: begin)
            }
        case .unlink: pendingNames.append((index, operation.text, nil))
        case .rename:
            let parts = operation.text.split(separator: "\n").map(String.init)
            pendingNames.append((index, parts[0], nil))
            pendingNames.append((index, parts[1], file))
        case .link: pendingNames.append((index, operation.text, file))
        case .acknowledge:
            let (writer, number) = Int(operation.first).quotientAndRemainder(dividingBy: 1_000_000)
            acknowledged[writer] = max(acknowledged[writer] ?? 0, number)
        }
    }

    private func flush(_ operation: WriteTrace.Operation) -> Flush {
        Flush(process: operation.process, file: operation.file, number: operation.first)
    }

    private mutating func open(_ operation: WriteTrace.Operation, at index: Int) {
        if operation.isFolder {
            folders.insert(operation.file)
            return
        }
        if operation.isCreation || files[operation.file] == nil {
            // An inode is reused after its file is removed.
            let file = SimulatedFile([])
            files[operation.file] = file
            pendingNames.append((index, operation.text, file))
        }
        if operation.first == 1 { files[operation.file]?.setSize(0, index) }
    }

    private mutating func flushNames(before begin: Int) {
        for change in pendingNames where change.index < begin { names[change.name] = change.file }
        pendingNames.removeAll { $0.index < begin }
    }

    /// The content of the device after a power failure: the bytes of each file by name.
    func image(using random: inout some RandomNumberGenerator) -> [String: [UInt8]] {
        var present = names
        let count =
            Bool.random(using: &random)
            ? pendingNames.count : Int.random(in: 0...pendingNames.count, using: &random)
        for change in pendingNames.prefix(count) { present[change.name] = change.file }
        let all = Survival.allCases
        let data = all.randomElement(using: &random) ?? .none
        let isSame = Int.random(in: 0..<10, using: &random) < 4
        let other = isSame ? data : all.randomElement(using: &random) ?? .none
        var image: [String: [UInt8]] = [:]
        for (name, file) in present.sorted(by: { $0.key < $1.key }) {
            image[name] = file.image(name.hasSuffix("-log") ? other : data, using: &random)
        }
        // The content of a lock file does not matter after a restart.
        for name in image.keys.sorted()
        where name.hasSuffix("-lock") && Bool.random(using: &random) { image[name] = nil }
        return image
    }
}

/// The unflushed writes that a device has after a power failure.
enum Survival: CaseIterable {
    case none
    case all
    /// Any version of each page.
    case random
    /// The newest version of some pages.
    case some
    /// The first two pages of a file, which are the headers of a store.
    case headersOnly
    case allButHeaders
    /// Sectors of any two versions of each page.
    case torn
    /// A page's newest version up to a sector, or from there on.
    case cut
}

/// A file, and its possible content on the device.
final class SimulatedFile {
    private typealias Page = [UInt8]

    private static let pageSize = 4096
    private static let sectorSize = 512
    private static let blank = Page(repeating: 0, count: pageSize)

    private var current: [Int: Page] = [:]
    private var flushed: [Int: Page] = [:]
    private var unflushed: [Int: [(index: Int, page: Page)]] = [:]
    private(set) var size: Int
    private var flushedSize: Int
    private var unflushedSizes: [(index: Int, size: Int)] = []

    /// A file that the device has.
    init(_ bytes: [UInt8]) {
        size = bytes.count
        flushedSize = size
        for start in stride(from: 0, to: size, by: Self.pageSize) {
            var page = Page(bytes[start..<min(size, start + Self.pageSize)])
            page += Self.blank[page.count...]
            flushed[start / Self.pageSize] = page
        }
        current = flushed
    }

    func write(_ bytes: ArraySlice<UInt8>, at offset: Int, _ index: Int) {
        var position = offset
        let end = offset + bytes.count
        while position < end {
            let (number, start) = position.quotientAndRemainder(dividingBy: Self.pageSize)
            let count = min(Self.pageSize - start, end - position)
            var page = current[number] ?? Self.blank
            let first = bytes.startIndex + position - offset
            page.replaceSubrange(start..<start + count, with: bytes[first..<first + count])
            set(number, page, index)
            position += count
        }
        if end > size { setSize(end, index) }
    }

    private func set(_ number: Int, _ page: Page, _ index: Int) {
        current[number] = page
        unflushed[number, default: []].append((index, page))
    }

    func setSize(_ new: Int, _ index: Int) {
        if new < size {
            for number in current.keys.sorted() where number * Self.pageSize >= new {
                set(number, Self.blank, index)
            }
        }
        size = new
        unflushedSizes.append((index, new))
    }

    /// Records that everything that was written before a time is on the device; `count` limits this to a number of
    /// bytes.
    func flush(before index: Int, from start: Int = 0, count: Int? = nil) {
        let range = count.map { start / Self.pageSize...(start + max($0, 1) - 1) / Self.pageSize }
        for number in Array(unflushed.keys) where range?.contains(number) ?? true {
            guard let versions = unflushed[number] else { continue }
            if let newest = versions.last(where: { $0.index < index }) {
                flushed[number] = newest.page
            }
            let rest = versions.filter { $0.index >= index }
            unflushed[number] = rest.isEmpty ? nil : rest
        }
        if let newest = unflushedSizes.last(where: { $0.index < index }) {
            flushedSize = newest.size
        }
        unflushedSizes.removeAll { $0.index < index }
    }

    func image(_ survival: Survival, using random: inout some RandomNumberGenerator) -> [UInt8] {
        var length = flushedSize
        if survival == .all {
            length = size
        } else if survival != .none {
            let sizes = [flushedSize] + unflushedSizes.map(\.size)
            length = sizes.randomElement(using: &random) ?? flushedSize
        }
        let share = Double.random(in: 0...1, using: &random)
        var bytes: [UInt8] = []
        let count = (length + Self.pageSize - 1) / Self.pageSize
        bytes.reserveCapacity(count * Self.pageSize)
        for number in 0..<count {
            bytes += page(number, survival, share, &random)
        }
        bytes.removeLast(bytes.count - length)
        return bytes
    }

    private func page(
        _ number: Int, _ survival: Survival, _ share: Double,
        _ random: inout some RandomNumberGenerator
    ) -> Page {
        let base = flushed[number] ?? Self.blank
        guard let later = unflushed[number], let newest = later.last?.page else { return base }
        let versions = [base] + later.map(\.page)
        switch survival {
        case .none: return base
        case .all: return newest
        case .random: return versions.randomElement(using: &random) ?? base
        case .some: return Double.random(in: 0..<1, using: &random) < share ? newest : base
        case .headersOnly: return number < 2 ? newest : base
        case .allButHeaders: return number < 2 ? base : newest
        case .torn:
            guard let one = versions.randomElement(using: &random),
                let other = versions.randomElement(using: &random)
            else { return base }
            var page: Page = []
            for start in stride(from: 0, to: Self.pageSize, by: Self.sectorSize) {
                let source = Bool.random(using: &random) ? one : other
                page += source[start..<start + Self.sectorSize]
            }
            return page
        case .cut:
            let sectors = Self.pageSize / Self.sectorSize
            let cut = Int.random(in: 0...sectors, using: &random) * Self.sectorSize
            let before = versions[versions.count - 2]
            let isBeginning = Bool.random(using: &random)
            var page = Page((isBeginning ? newest : before)[..<cut])
            page += (isBeginning ? before : newest)[cut...]
            return page
        }
    }
}
