// The part of Svelte that docs/web.md uses. It is not installed for the tests.
declare module 'svelte/store' {
  export function readable<Value>(value: Value, start: (set: (value: Value) => void) => () => void): unknown
}
