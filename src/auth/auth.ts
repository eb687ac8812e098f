// The door of how people prove who they are: better-auth, in the thread of sign-in. What they may do is not known here:
// whether a session is made is asked of the main thread each time.

export { type Auth, type AuthParts, openAuth } from './open-auth.ts';
