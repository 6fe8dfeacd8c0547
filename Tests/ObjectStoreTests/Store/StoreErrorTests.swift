import ObjectStore
import Testing

/// The wording of an error, which depends on the language of the caller.
@Suite struct StoreErrorTests {
    @Test func `programs count positions from 0, and scripts from 1`() {
        let error = StoreError.outside(5, of: "the 5 results")
        #expect(error.code == .outOfRange)
        #expect(error.message == "index 5 is outside the 5 results")
        #expect(error.message(for: .script) == "index 6 is outside the 5 results")
    }

    @Test func `advice contains functions of the caller's language`() throws {
        let store = try Store.temporary([ClassSchema("Dog", [])])
        defer { store.close() }
        let error = try #require(storeError(.notInWrite) { try store.create("Dog") })
        #expect(error.message.hasSuffix("; make the change in store.write { … }"))
        #expect(
            error.message(for: .script).hasSuffix(
                "; wrap the change in store:write(function() … end)"))
    }

    @Test func `the location precedes the message in both languages`() {
        let error = StoreError.outside(0, of: "the list").at("row 3")
        #expect(error.message == "row 3: index 0 is outside the list")
        #expect(error.message(for: .script) == "row 3: index 1 is outside the list")
        #expect(StoreError(.closed, "it ended").at("zoo").message(for: .script) == "zoo: it ended")
    }
}
