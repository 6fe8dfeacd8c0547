// swift-tools-version: 6.2
import PackageDescription

// A Swift program that lets its users write rules in Lua: `swift run` in this folder.
let package = Package(
    name: "rules",
    dependencies: [
        // In your program: .package(url: …, from: …)
        .package(name: "moonpool", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "rules",
            dependencies: [.product(name: "MoonpoolScripting", package: "moonpool")])
    ],
    swiftLanguageModes: [.v6]
)
