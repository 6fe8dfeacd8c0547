/// The object that every workload uses, and its deterministic generator.
///
/// `Person { id: int primary, name: string (8 to 12 letters), age: int 0…99, score: double 0…1000,
/// active: bool }`. The same index gives the same person to every contestant, in Swift and in Lua.
struct Person {
    var id: Int64
    var name: ShortName
    var age: Int64
    var score: Double
    var active: Bool
}

/// Up to sixteen bytes of text without an allocation, so that generating costs little compared to storing.
struct ShortName {
    private var bytes: (UInt64, UInt64)
    let count: Int

    init(letters first: UInt64, _ second: UInt64, count: Int) {
        var low: UInt64 = 0
        var high: UInt64 = 0
        var letter = 0
        while letter < count {
            let draw = letter < 6 ? first >> (10 * letter) : second >> (10 * (letter - 6))
            let byte = UInt64(Self.alphabet.utf8Start[Int(draw & 1023) % 52])
            if letter < 8 {
                low |= byte << (8 * letter)
            } else {
                high |= byte << (8 * (letter - 8))
            }
            letter += 1
        }
        bytes = (low.littleEndian, high.littleEndian)
        self.count = count
    }

    /// Calls the body with the letters as bytes, for C interfaces.
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeBytes(of: bytes) { try body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// The letters as a string, which fits Swift's inline form.
    var string: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    private static let alphabet: StaticString =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
}

/// How primary keys depend on the index of a person.
enum KeyOrder: Sendable {
    /// 0, 1, 2 …
    case ascending
    /// 63-bit keys in random order.
    case random
}

/// A range of generated people.
struct People: Sendable {
    var indices: Range<Int>
    var keys = KeyOrder.ascending

    var count: Int { indices.count }

    /// Returns the primary key of the person with this index.
    func key(_ index: Int) -> Int64 {
        switch keys {
        case .ascending: Int64(index)
        case .random:
            Int64(bitPattern: mix(UInt64(index) &* 0x9e37_79b9_7f4a_7c15 &+ 77) >> 1)
        }
    }

    /// Returns the person with this index.
    func person(_ index: Int) -> Person {
        var draws = Draws(state: mix(UInt64(index) &+ 1) ^ 0x5851_f42d_4c95_7f2d)
        let age = Int64(draws.next() % 100)
        let score = Double(draws.next() >> 11) * (1000.0 / 9_007_199_254_740_992.0)
        let active = draws.next() & 1 == 1
        let length = 8 + Int(draws.next() % 5)
        let name = ShortName(letters: draws.next(), draws.next(), count: length)
        return Person(id: key(index), name: name, age: age, score: score, active: active)
    }

    /// Returns `count` random keys.
    ///
    /// The same seed gives the same keys.
    func randomKeys(_ count: Int, seed: UInt64) -> [Int64] {
        (0..<count).map { draw in
            let random = mix(seed &* 0x9e37_79b9_7f4a_7c15 &+ UInt64(draw))
            return key(indices.lowerBound + Int(random % UInt64(indices.count)))
        }
    }
}

/// The random number generator splitmix64: small, fast, and easy to implement in Lua.
struct Draws {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return mix(state)
    }
}

/// Returns the finalizer of splitmix64.
func mix(_ value: UInt64) -> UInt64 {
    var mixed = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
}
