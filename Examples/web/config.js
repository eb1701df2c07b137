// The address of the Lockstep server. It must allow this page's origin: --cors-origin.
export const server = 'http://127.0.0.1:8080'
