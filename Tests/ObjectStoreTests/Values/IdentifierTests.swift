import ObjectStore
import Testing

@Suite struct IdentifierTests {
    @Test func `a UUID survives printing and reading`() {
        for _ in 0..<200 {
            let identifier = UUIDValue.random()
            #expect(UUIDValue(identifier.description) == identifier)
            #expect(UUIDValue(bytes: identifier.bytes) == identifier)
            let digits = Array(identifier.description)
            #expect(digits[14] == "4" && "89ab".contains(digits[19]))
        }
    }

    @Test(arguments: ["", "0", "00000000-0000-0000-0000-00000000000g", "{}", "00000000000000000"])
    func `invalid UUIDs are refused`(text: String) {
        #expect(UUIDValue(text) == nil)
    }

    @Test func `object ids ascend and survive printing`() {
        let identifiers = (0..<100).map { _ in ObjectIDValue.generate(seconds: 1_700_000_000) }
        #expect(Set(identifiers).count == 100)
        for identifier in identifiers {
            #expect(identifier.description.utf8.count == 24)
            #expect(ObjectIDValue(identifier.description) == identifier)
        }
        #expect(ObjectIDValue.generate(seconds: 1) < ObjectIDValue.generate(seconds: 2))
    }
}
