import Testing

@testable import Decimals

@Suite struct DecimalSumTests {
    private func text(_ numbers: [String], without removed: [String] = []) throws -> String {
        var sum = DecimalSum()
        for number in (numbers + removed).shuffled() {
            sum.change(try #require(DecimalValue(number)), by: 1)
        }
        for number in removed { sum.change(try #require(DecimalValue(number)), by: -1) }
        return sum.value.description
    }

    @Test func `a sum has the decimal places of its values`() throws {
        #expect(try text([]) == "0")
        #expect(try text(["0.5", "0.50"]) == "1.00")
        #expect(try text(["0.5", "0.1"], without: ["0.25"]) == "0.6")
        #expect(try text(["2.50", "-2.50"]) == "0.00")
    }

    @Test func `a sum does not depend on the order of values that need more digits`() throws {
        let many = "9999999999999999999999999999999999"
        #expect(try text(["1E+40", "0.1", "-1E+40"]) == "0.1")
        #expect(try text([many, many, "3", "-" + many, "-" + many]) == "3")
        #expect(try text(["1"], without: [many, "1E-6176", "9E+6111"]) == "1")
        #expect(try text([many, "1"]) == "1.000000000000000000000000000000000E+34")
    }
}
