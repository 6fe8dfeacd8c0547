import ColumnStorage

/// Records the reads of a store.
package class ReadRecorder {
    /// Records that a property of an object is read; nil for all properties.
    package func noteRead(
        of store: Store, _ table: TableID, _ key: ObjectKey, _ column: ColumnID?
    ) {}

    /// Records a read of whether an object exists.
    func noteRead(of store: Store, existenceOf reference: ObjectReference) {}

    /// Records that an object was looked up by a value.
    func noteLookup(of store: Store, _ lookup: StoreReads.Lookup, by value: Value) {}

    /// Records that a node is read.
    func noteRead(of store: Store, _ hold: LiveNodeHold, _ key: LiveNodeKey) {}
}
