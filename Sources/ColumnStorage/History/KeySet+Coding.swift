/// The stored form: `number of runs * 2 + (1 if a run is longer than one key)`, then for every run its distance from
/// the previous one and, if any run is longer than one key, its length; all as base-128 numbers.
///
/// Scattered keys take a byte or two each.
extension KeySet {
    func encode(into writer: inout ByteWriter) {
        let allSingle = count == runs.count
        writer.number(UInt64(runs.count) << 1 | (allSingle ? 0 : 1))
        var expected: Int64 = 0
        for run in runs {
            writer.number(UInt64(run.first - expected))
            if !allSingle { writer.number(UInt64(run.last - run.first)) }
            // The key right after a run cannot begin the next one.
            expected = run.last + 2
        }
    }

    init(from reader: inout ByteReader) throws(DamagedEncoding) {
        self.init()
        let header = try reader.number()
        let allSingle = header & 1 == 0
        guard header >> 1 <= UInt64(reader.remaining) else { throw reader.damaged }
        let count = Int(header >> 1)
        runs.reserveCapacity(count)
        // The largest key that leaves space for the distance to the next run.
        let bound = UInt64(Int64.max) - 2
        var expected: UInt64 = 0
        var total = 0
        for _ in 0..<count {
            let distance = try reader.number()
            guard distance <= bound, expected + distance <= bound else { throw reader.damaged }
            let first = expected + distance
            var length: UInt64 = 0
            if !allSingle {
                length = try reader.number()
                guard length <= bound, first + length <= bound else { throw reader.damaged }
            }
            runs.append(Run(first: Int64(first), last: Int64(first + length), before: total))
            total += Int(length) + 1
            expected = first + length + 2
        }
    }
}
