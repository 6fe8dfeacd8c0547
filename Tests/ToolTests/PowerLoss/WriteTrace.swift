import Glibc

/// The operations of processes on the files of a folder, in order.
struct WriteTrace {
    /// One call.
    struct Operation {
        enum Kind: UInt8 {
            case open = 111  // o
            case write = 119  // w
            case writeThrough = 87  // W: on the device when the call returns
            case setSize = 116  // t
            case extend = 101  // e
            case beginFlush = 115  // s
            case endFlush = 83  // S
            case unlink = 117  // u
            case rename = 114  // r
            case link = 108  // l
            case acknowledge = 65  // A
        }

        var kind: Kind
        var process: UInt32
        /// The file's inode.
        var file: UInt64
        /// An offset, a size, or a number, depending on the kind.
        var first: UInt64
        var second: UInt64
        var bytes: ArraySlice<UInt8>

        var text: String { String(decoding: bytes, as: UTF8.self) }
        var isCreation: Bool { second & 1 != 0 }
        var isFolder: Bool { second & 2 != 0 }
    }

    private(set) var operations: [Operation] = []

    private static let headSize = 33

    init(_ bytes: [UInt8]) throws {
        var offset = 0
        while offset + Self.headSize <= bytes.count {
            let head = bytes[offset..<offset + Self.headSize]
            func number<T: FixedWidthInteger>(_ offset: Int, _: T.Type) -> T {
                head.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: T.self) }
            }
            let count = Int(number(29, UInt32.self))
            let end = offset + Self.headSize + count
            guard let kind = Operation.Kind(rawValue: number(0, UInt8.self)), end <= bytes.count
            else { throw Malformed(offset: offset) }
            operations.append(
                Operation(
                    kind: kind, process: number(1, UInt32.self), file: number(5, UInt64.self),
                    first: number(13, UInt64.self), second: number(21, UInt64.self),
                    bytes: bytes[offset + Self.headSize..<end]))
            offset = end
        }
    }

    struct Malformed: Error { let offset: Int }

    /// Adds the acknowledgement of a process that has ended without an error.
    mutating func acknowledge(_ number: UInt64) {
        operations.append(
            Operation(
                kind: .acknowledge, process: 0, file: 0, first: number, second: 0, bytes: []))
    }

    /// The interesting times for a power failure: between a write and the end of a flush, and around changes to names.
    func moments(_ count: Int, using random: inout some RandomNumberGenerator) -> [Int] {
        let interesting = operations.indices.filter {
            switch operations[$0].kind {
            case .write, .setSize, .extend: false
            case .open: operations[$0].isCreation
            default: true
            }
        }
        return (0..<count).map { _ in
            let isNear = Int.random(in: 0..<10, using: &random) < 7
            let moment =
                isNear
                ? interesting.randomElement(using: &random) ?? 0
                : Int.random(in: operations.indices, using: &random)
            let shift = [0, 0, 0, -1, 1, 2].randomElement(using: &random) ?? 0
            return min(max(moment + shift, 0), operations.count - 1)
        }.sorted()
    }
}
