// The names that examples of docs/web.md use without a declaration of their own.
import type * as client from '../lockstep.js'

declare global {
  const Lockstep: typeof client.Lockstep
  const lockstep: client.Lockstep
  const favorites: client.List
  const settings: client.Values
  const profile: client.Values
  const write: client.Write
  const React: any
  const shallowRef: any
  const onUnmounted: any
}
