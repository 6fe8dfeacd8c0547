/// Sorts by 64-bit codes in linear time, stably.
enum RadixSort {
    private static let digitBits: UInt64 = 11
    private static let buckets = 1 << 11
    private static let passes = 6

    /// Sorts entries by their codes; equal codes keep their order.
    static func sort(_ entries: inout [CodedKey]) {
        if entries.count < 512 {
            // Positions make an unstable sort stable.
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
            // Where all entries share a digit, as in the high digits of small numbers, it decides
            // nothing.
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
        var places = counts.mutableSpan
        let shift = digitBits * UInt64(pass)
        let base = pass * buckets
        let mask = UInt64(buckets - 1)
        var index = 0
        while index < source.count {
            let entry = source[index]
            let bucket = base &+ Int(truncatingIfNeeded: entry.code &>> shift & mask)
            let place = places[bucket]
            target[place] = entry
            places[bucket] = place &+ 1
            index &+= 1
        }
    }
}

/// The texts of one sort, one after the other, so that a million of them are one allocation.
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

    /// Sorts entries of whose keys these are the texts, in the same order; codes are those of the texts.
    func sort(_ entries: inout [CodedKey], ascending: Bool) {
        // Texts are found again by their place in the arena, so entries carry that instead.
        let keys = entries.map(\.key)
        for place in entries.indices { entries[place].key = ObjectKey(rawValue: Int64(place)) }
        RadixSort.sort(&entries)
        orderTies(&entries, ascending: ascending)
        for index in entries.indices { entries[index].key = keys[place(entries[index])] }
    }

    private func place(_ entry: CodedKey) -> Int { Int(entry.key.rawValue) }

    /// Puts entries whose codes are equal into the order of their whole texts.
    private func orderTies(_ entries: inout [CodedKey], ascending: Bool) {
        var start = 0
        while start < entries.count {
            var end = start + 1
            while end < entries.count, entries[end].code == entries[start].code { end += 1 }
            if end - start > 1 {
                entries[start..<end].sort { left, right in
                    let order = order(place(left), place(right))
                    if order == 0 { return left.key < right.key }
                    return (order < 0) == ascending
                }
            }
            start = end
        }
    }
}
