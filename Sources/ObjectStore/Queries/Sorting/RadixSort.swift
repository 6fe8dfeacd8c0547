import ColumnStorage

/// A stable sort by 64-bit codes in linear time.
enum RadixSort {
    private static let digitBits: UInt64 = 11
    private static let buckets = 1 << 11
    private static let passes = 6

    /// Sorts entries by their codes; entries with equal codes keep their order.
    static func sort(_ entries: inout [CodedKey]) {
        if entries.count < 512 {
            // The positions serve as a second key, which makes the sort stable.
            let sorted = entries.enumerated().sorted {
                ($0.element.code, $0.offset) < ($1.element.code, $1.offset)
            }
            entries = sorted.map(\.element)
            return
        }
        var counts = [Int](repeating: 0, count: buckets * passes)
        count(entries, &counts)
        var other = entries
        for pass in 0..<passes {
            let base = pass * buckets
            // A digit that all entries share, such as the high digits of small numbers, needs no pass.
            let digit = Int(
                entries[0].code >> (digitBits * UInt64(pass)) & UInt64(buckets - 1))
            if counts[base + digit] == entries.count { continue }
            var start = 0
            for bucket in 0..<buckets {
                let size = counts[base + bucket]
                counts[base + bucket] = start
                start += size
            }
            distribute(entries, to: &other, &counts, pass)
            swap(&entries, &other)
        }
        assert(
            zip(entries, entries.dropFirst()).allSatisfy { $0.code <= $1.code },
            "the codes ascend")
    }

    /// Merges sorted parts; entries with equal codes keep the order of their parts.
    static func merged(_ parts: [[CodedKey]]) -> [CodedKey] {
        var parts = parts
        while parts.count > 1 {
            parts = stride(from: 0, to: parts.count, by: 2).map {
                $0 + 1 < parts.count ? merged(parts[$0], parts[$0 + 1]) : parts[$0]
            }
        }
        return parts.first ?? []
    }

    private static func merged(_ left: [CodedKey], _ right: [CodedKey]) -> [CodedKey] {
        // The rest of the right part is in its place as soon as the left part is used up.
        var all = left + right
        var target = all.mutableSpan
        let (first, second) = (left.span, right.span)
        var (index, other, position) = (0, 0, 0)
        while index < first.count, other < second.count {
            let isSecond = second[other].code < first[index].code
            target[position] = isSecond ? second[other] : first[index]
            if isSecond { other &+= 1 } else { index &+= 1 }
            position &+= 1
        }
        while index < first.count {
            target[position] = first[index]
            index &+= 1
            position &+= 1
        }
        return all
    }

    private static func count(_ entries: [CodedKey], _ counts: inout [Int]) {
        let source = entries.span
        var counters = counts.mutableSpan
        let mask = UInt64(buckets - 1)
        var index = 0
        while index < source.count {
            let code = source[index].code
            counters[Int(code & mask)] &+= 1
            counters[buckets + Int(code &>> 11 & mask)] &+= 1
            counters[2 * buckets + Int(code &>> 22 & mask)] &+= 1
            counters[3 * buckets + Int(code &>> 33 & mask)] &+= 1
            counters[4 * buckets + Int(code &>> 44 & mask)] &+= 1
            counters[5 * buckets + Int(code &>> 55 & mask)] &+= 1
            index &+= 1
        }
    }

    private static func distribute(
        _ entries: [CodedKey], to other: inout [CodedKey], _ counts: inout [Int], _ pass: Int
    ) {
        let source = entries.span
        var target = other.mutableSpan
        var positions = counts.mutableSpan
        let shift = digitBits * UInt64(pass)
        let base = pass * buckets
        let mask = UInt64(buckets - 1)
        var index = 0
        while index < source.count {
            let entry = source[index]
            let bucket = base &+ Int(truncatingIfNeeded: entry.code &>> shift & mask)
            let position = positions[bucket]
            target[position] = entry
            positions[bucket] = position &+ 1
            index &+= 1
        }
    }
}

/// The texts of one sort, stored one after the other, so a million texts take one allocation.
struct TextArena {
    private var bytes: [UInt8] = []
    private var starts: [Int] = [0]

    var isEmpty: Bool { starts.count == 1 }
    mutating func add(_ text: [UInt8]) {
        bytes += text
        starts.append(bytes.count)
    }

    private func order(_ left: Int, _ right: Int) -> Int {
        let a = bytes.span.extracting(starts[left]..<starts[left + 1])
        let b = bytes.span.extracting(starts[right]..<starts[right + 1])
        return TextTest.order(a, b)
    }

    /// Sorts entries; the texts are those of their keys, in the same order, and the codes are computed from the texts.
    func sort(_ entries: inout [CodedKey], ascending: Bool) {
        // During the sort, entries carry the positions of their texts in the arena instead of keys.
        let keys = entries.map(\.key)
        for position in entries.indices {
            entries[position].key = ObjectKey(rawValue: Int64(position))
        }
        RadixSort.sort(&entries)
        orderTies(&entries, ascending: ascending)
        for index in entries.indices { entries[index].key = keys[position(entries[index])] }
    }

    private func position(_ entry: CodedKey) -> Int { Int(entry.key.rawValue) }

    /// Sorts entries with equal codes by their whole texts.
    private func orderTies(_ entries: inout [CodedKey], ascending: Bool) {
        var start = 0
        while start < entries.count {
            var end = start + 1
            while end < entries.count, entries[end].code == entries[start].code { end += 1 }
            if end - start > 1 {
                entries[start..<end].sort { left, right in
                    let order = order(position(left), position(right))
                    if order == 0 { return left.key < right.key }
                    return (order < 0) == ascending
                }
            }
            start = end
        }
    }
}

/// 64-bit codes that have the same order as the values.
enum SortCode {
    @inline(__always)
    static func of(_ value: Int64) -> UInt64 {
        UInt64(bitPattern: value) ^ (1 << 63)
    }

    static func int(_ code: UInt64) -> Int64 {
        Int64(bitPattern: code ^ (1 << 63))
    }

    static func double(_ code: UInt64) -> Double { RealOrder.value(ofCode: code) }

    @inline(__always)
    static func of(_ value: Double) -> UInt64 { RealOrder.code(value) }

    /// Returns the first eight bytes of a text as a number.
    static func of(_ text: [UInt8]) -> UInt64 {
        var code: UInt64 = 0
        for index in 0..<8 {
            code = code << 8 | UInt64(index < text.count ? text[index] : 0)
        }
        return code
    }

    /// Returns the code of nil, which comes before all values; in descending order, with inverted codes, after them.
    static func ofNil(ascending: Bool) -> UInt64 { ascending ? 0 : .max }
}

extension BoundPath {
    /// Returns the code of an object's value, and all bytes of a value that is longer than a code; nil if the value is
    /// nil.
    func code(_ key: ObjectKey) throws -> (code: UInt64, text: [UInt8]?)? {
        let value = try value(key)
        if isMixed { return value.mixedCode.map { (SortCode.of($0), $0) } }
        switch value {
        case .null, .nothing, .mixed, .group: return nil
        case .bool(let flag): return (flag ? 1 : 0, nil)
        case .int(let value): return (SortCode.of(value), nil)
        case .double(let value): return (SortCode.of(value), nil)
        case .link(let target): return (SortCode.of(target.rawValue), nil)
        case .bytes(let bytes): return (SortCode.of(bytes), bytes)
        case .decimal(let value):
            let bytes = value.orderedBytes
            return (SortCode.of(bytes), bytes)
        }
    }
}
