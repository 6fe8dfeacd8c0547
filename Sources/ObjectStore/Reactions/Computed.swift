/// A value that is computed on its first read and kept until data that the computation read has changed.
///
/// Reactions that read the value run again only if the value changes. The value is confined to the thread of the
/// stores.
package final class Computed: Reaction {
    private let evaluate: () throws -> Bool
    private var isStale = true
    /// Whether the kept value was computed inside a write that may be rolled back.
    private var isProvisional = false
    private var failure: (any Error)?
    /// The reactions that have read the value, and observe the data that it depends on.
    private var readers: [ObjectIdentifier: Reader] = [:]
    private struct Reader { weak var reaction: Reaction? }
    /// The number of different values so far, including errors.
    private(set) var revision = 0

    /// Creates a value without computing it.
    ///
    /// `evaluate` computes the value, keeps it, and returns whether it differs from the previous one.
    package init(in scope: ReadScope, _ evaluate: @escaping () throws -> Bool) {
        self.evaluate = evaluate
        super.init(scope)
    }

    /// Updates the value that `evaluate` kept, if necessary.
    ///
    /// Throws the errors of `evaluate`, and `invalid_argument` if the computation reads its own value.
    package func update() throws {
        guard !isRunning else {
            throw StoreError(
                .invalidArgument, "this computed value reads itself, so it has no value")
        }
        if stores.contains(where: \.isChanging) {
            isStale = true
            isProvisional = true
            _ = try scope.tracking(nil, evaluate)
            return
        }
        refresh()
        scope.reaction?.noteRead(of: self)
        if let failure { throw failure }
    }

    /// Computes the value again if one of its dependencies has changed.
    func refresh() {
        guard !isRunning else { return }
        if !isStale { catchUp() }
        guard isStale || !hasDependencies else { return }
        let watch = Stopwatch()
        let interests = interestsRevision
        isStale = false
        do {
            let isAnother = try record(evaluate)
            if isAnother || failure != nil || isProvisional { revision += 1 }
            failure = nil
            isProvisional = false
        } catch {
            failure = error
            revision += 1
        }
        // An equal value may depend on other data than before.
        if interestsRevision != interests { updateReaders() }
        statistics.handling.add(watch.microseconds)
    }

    func add(reader: Reaction) {
        readers = readers.filter { $0.value.reaction != nil }
        readers[ObjectIdentifier(reader)] = Reader(reaction: reader)
    }

    func remove(reader: Reaction) { readers[ObjectIdentifier(reader)] = nil }

    private func updateReaders() {
        for reader in readers.values { reader.reaction?.computedDependsOnOtherData() }
    }

    override func computedDependsOnOtherData() {
        super.computedDependsOnOtherData()
        updateReaders()
    }

    override func didChange() -> Observer.Call? {
        isStale = true
        return nil
    }

    override func didLoseDependencies() { isStale = true }
}
