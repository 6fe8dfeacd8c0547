/// One hunk of a collection in the form of ``OldValueEncoder``: the range of the new elements, and the old elements
/// that they replaced.
struct ReplacedElements {
    let new: Range<Int>
    /// The replaced elements.
    private(set) var elements: [ListElement] = []
    /// The keys of the elements of a map.
    private(set) var names: [[UInt8]] = []

    /// Decodes the hunks of a collection of `count` current elements; if `hasHunks` is false, the single hunk of older
    /// files.
    static func read(
        count: Int, isMap: Bool, hasHunks: Bool, _ reader: inout ByteReader
    ) throws(DamagedEncoding) -> [ReplacedElements] {
        guard hasHunks else {
            let (first, last) = (try reader.number(), try reader.number())
            guard first <= UInt64(count), last <= UInt64(count) - first else {
                throw reader.damaged
            }
            return [try ReplacedElements(Int(first)..<count - Int(last), isMap, &reader)]
        }
        let number = try reader.number()
        guard number <= UInt64(reader.remaining) + 1 else { throw reader.damaged }
        if number == 0 { return [try ReplacedElements(0..<count, isMap, &reader)] }
        var hunks: [ReplacedElements] = []
        var start = 0
        for _ in 1..<number {
            let (kept, new) = (try reader.number(), try reader.number())
            guard kept <= UInt64(count - start), new <= UInt64(count - start) - kept else {
                throw reader.damaged
            }
            start += Int(kept)
            hunks.append(try ReplacedElements(start..<start + Int(new), isMap, &reader))
            start += Int(new)
        }
        return hunks
    }

    private init(
        _ new: Range<Int>, _ isMap: Bool, _ reader: inout ByteReader
    ) throws(DamagedEncoding) {
        self.new = new
        let number = try reader.count()
        for _ in 0..<number { elements.append(try Self.element(&reader)) }
        guard isMap else { return }
        for _ in 0..<number { names.append([UInt8](try reader.raw(try reader.count()))) }
    }

    private static func element(_ reader: inout ByteReader) throws(DamagedEncoding) -> ListElement {
        switch try reader.byte() {
        case 0: return .null
        case 1: return .int(try reader.signed())
        case 2:
            return .float(
                Float(bitPattern: UInt32(truncatingIfNeeded: try reader.word(bytes: 4))))
        case 3: return .double(Double(bitPattern: try reader.word(bytes: 8)))
        case 4: return .bytes([UInt8](try reader.raw(try reader.count())))
        default: throw reader.damaged
        }
    }
}
