extension TableReader {
    /// The rows of a cluster that exist.
    @inlinable
    public func presence(_ cluster: Int) -> ClusterBits {
        guard UInt(bitPattern: cluster) < UInt(bitPattern: state.pointee.clusterCount) else {
            return .zero
        }
        return leaf(0, cluster).loadUnaligned(as: ClusterBits.self)
    }
}
