#if canImport(Darwin)
  /// Replaces `InlineArray<4, Element>`, which needs macOS 26 or iOS 26.
  struct FourElements<Element: Sendable>: Sendable {
    private var (first, second, third, fourth): (Element, Element, Element, Element)

    init(repeating element: Element) { (first, second, third, fourth) = (element, element, element, element) }

    subscript(index: Int) -> Element {
      get {
        switch index {
        case 0: first
        case 1: second
        case 2: third
        default: fourth
        }
      }
      set {
        switch index {
        case 0: first = newValue
        case 1: second = newValue
        case 2: third = newValue
        default: fourth = newValue
        }
      }
    }
  }
#endif
