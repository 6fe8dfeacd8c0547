import Glibc
import ObjectStore
import Testing

@Suite struct ClosingTests {
    private static let classes = [ClassSchema("A", "n: int")]

    @Test func `closing a store releases its file, even with existing handles and tokens`() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.moonpool")
        let configuration = StoreConfiguration(.file(path), schema: Self.classes)
        let store = try Store(configuration, scheduler: ManualScheduler())
        let object = try store.write { try store.create("A", .list([.int(7)])) }
        let token = try store.objects("A").observe { _ in }
        store.close()
        // Truncating and mapping a file that is still mapped would crash the process.
        #expect(truncate(path, 100) == 0)
        _ = storeError(.fileCorrupt) {
            _ = try Store(configuration, scheduler: ManualScheduler())
        }
        #expect(unlink(path) == 0)
        let again = try Store(configuration, scheduler: ManualScheduler())
        #expect(try again.objects("A").count() == 0)
        _ = storeError(.closed) { _ = try object.value("n") }
        token.invalidate()
    }
}
