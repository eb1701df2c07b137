#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The unused bytes in the middle of a page.
///
/// A page of a b-tree has its header and the positions of its cells at the start, and its cells at
/// the end. Between them is a gap that no query reads. When SQLite moves cells to another page, it
/// leaves their bytes in the gap, even with `secure_delete`. So text of an erased user could stay
/// in the file.
enum PageGap {
  /// In a file with fewer pages, no page number begins with one of `btreeKinds`.
  ///
  /// Pages that do not belong to a b-tree begin with a page number of four bytes. From page
  /// 0x0200_0000 on, such a number could look like a kind of b-tree page. The limit is half of
  /// that, because a checkpoint may make the file grow.
  static let pageLimit = 0x0100_0000
  /// The first byte of a page of an index or of a table: an inner page or a leaf.
  private static let btreeKinds: [UInt8] = [2, 5, 10, 13]
  private static let leafKinds: [UInt8] = [10, 13]
  /// The file's own header is in front of the header of the first page.
  private static let fileHeaderSize = 100

  /// The gap's position. Nil if the page does not belong to a b-tree, or if its header or the
  /// positions of its cells contradict each other.
  static func range(in page: UnsafeRawBufferPointer, isFirst: Bool) -> Range<Int>? {
    let header = isFirst ? fileHeaderSize : 0
    guard page.count >= header + 12, btreeKinds.contains(page[header]) else { return nil }
    func number(at offset: Int) -> Int { Int(page[header + offset]) << 8 | Int(page[header + offset + 1]) }
    let (positions, cells) = (leafKinds.contains(page[header]) ? 8 : 12, number(at: 3))
    let start = header + positions + 2 * cells
    // Two bytes cannot contain 65,536, so SQLite writes 0 instead.
    let end = number(at: 5) == 0 ? 65_536 : number(at: 5)
    guard start <= end, end <= page.count else { return nil }
    let isConsistent = (0..<cells).allSatisfy { (end..<page.count).contains(number(at: positions + 2 * $0)) }
    return isConsistent ? start..<end : nil
  }

  /// Whether the gap contains anything but zeros.
  static func hasLeftovers(_ page: UnsafeRawBufferPointer, isFirst: Bool) -> Bool {
    guard let range = range(in: page, isFirst: isFirst) else { return false }
    guard let start = page.baseAddress?.advanced(by: range.lowerBound), range.count > 1 else {
      return page[range].contains { $0 != 0 }
    }
    // All bytes are zero if the first one is, and each is equal to the next one. `memcmp` is much
    // quicker than a loop: this runs for each page that is written.
    return page[range.lowerBound] != 0 || memcmp(start, start + 1, range.count - 1) != 0
  }

  /// Overwrites the gap with zeros.
  static func clear(_ page: UnsafeMutableRawBufferPointer, isFirst: Bool) {
    guard let range = range(in: UnsafeRawBufferPointer(page), isFirst: isFirst) else { return }
    UnsafeMutableRawBufferPointer(rebasing: page[range]).initializeMemory(as: UInt8.self, repeating: 0)
  }
}
