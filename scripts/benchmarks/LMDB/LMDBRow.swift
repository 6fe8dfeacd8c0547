/// A person as one value: age, score, active, length of the name, name.
///
/// Its key is the LMDB key.
enum LMDBRow {
    static let ageOffset = 0
    static let scoreOffset = 8
    static let activeOffset = 16
    static let lengthOffset = 17
    static let nameOffset = 18

    @inline(__always)
    static func withBytes<Result>(
        of person: Person, _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        var buffer: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        return try withUnsafeMutableBytes(of: &buffer) { row in
            row.storeBytes(of: person.age, toByteOffset: ageOffset, as: Int64.self)
            row.storeBytes(of: person.score, toByteOffset: scoreOffset, as: Double.self)
            row[activeOffset] = person.active ? 1 : 0
            row[lengthOffset] = UInt8(person.name.count)
            person.name.withBytes { name in
                row.baseAddress!.advanced(by: nameOffset)
                    .copyMemory(from: name.baseAddress!, byteCount: name.count)
            }
            let length = nameOffset + person.name.count
            return try body(UnsafeMutableRawBufferPointer(rebasing: row[..<length]))
        }
    }

    @inline(__always)
    static func age(_ row: UnsafeRawPointer) -> Int64 {
        row.loadUnaligned(fromByteOffset: ageOffset, as: Int64.self)
    }

    @inline(__always)
    static func score(_ row: UnsafeRawPointer) -> Double {
        row.loadUnaligned(fromByteOffset: scoreOffset, as: Double.self)
    }

    @inline(__always)
    static func isActive(_ row: UnsafeRawPointer) -> Bool {
        row.load(fromByteOffset: activeOffset, as: UInt8.self) != 0
    }

    @inline(__always)
    static func firstLetter(_ row: UnsafeRawPointer) -> UInt8 {
        row.load(fromByteOffset: nameOffset, as: UInt8.self)
    }
}
