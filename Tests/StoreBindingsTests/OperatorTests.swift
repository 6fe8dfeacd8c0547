import Testing

@Suite struct OperatorTests {
    let session: Session
    init() throws { session = try Session("Item = { id = \"int primary\" }") }

    @Test func `identifiers are compared by their order`() {
        session.expect(
            """
            local low = moonpool.uuid "00000000-0000-4000-8000-000000000001"
            local high = moonpool.uuid "ffffffff-0000-4000-8000-000000000001"
            assert(low < high and low <= high and low <= low and high > low and high >= high and not (high <= low))
            local first, last = moonpool.object_id(("0"):rep(24)), moonpool.object_id(("f"):rep(24))
            assert(first < last and first <= last and last >= first and not (last < first) and first ~= low)
            """)
    }

    @Test(arguments: [
        ("moonpool.date() < 3", "attempt to compare date with number"),
        ("3 >= moonpool.date()", "attempt to compare date with number"),
        ("moonpool.uuid() <= 'x'", "attempt to compare uuid with string"),
        ("moonpool.uuid() < moonpool.object_id()", "attempt to compare uuid with object_id"),
        ("{} > moonpool.object_id()", "attempt to compare object_id with table"),
        ("moonpool.decimal '1' < 'x'", "attempt to compare decimal with string"),
        (
            "moonpool.date() + {}",
            "attempt to perform arithmetic on a table value (number expected)"
        ),
        (
            "moonpool.date() - 'x'",
            "attempt to perform arithmetic on a string value (number expected)"
        ),
        ("1 - moonpool.date()", "attempt to perform arithmetic on a number value (date expected)"),
        (
            "moonpool.decimal(1) * nil",
            "attempt to perform arithmetic on a nil value (decimal expected)"
        ),
        (
            "true // moonpool.decimal(1)",
            "attempt to perform arithmetic on a boolean value (decimal expected)"
        ),
    ])
    func `an invalid operand of an operator is reported with Lua's message`(
        code: String, message: String
    ) {
        session.expect(
            """
            local ok, why = pcall(function() return \(code) end)
            assert(not ok)
            why = tostring(why)
            assert(why:sub(-\(message.utf8.count)) == "\(message)", why)
            """)
    }
}
