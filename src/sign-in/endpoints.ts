// The paths below /console/auth that there are, with the fields that each takes: nothing else reaches the thread of sign-in.

export interface Endpoint {
  method: 'GET' | 'POST';
  /** Texts that the body must have. */
  fields: readonly string[];
  /** What is sent whatever the caller says. */
  fixed?: Readonly<Record<string, string>>;
  /** It is for somebody who is signed in. */
  needsSession?: boolean;
  /** Somebody proves here who they are. */
  isProof?: boolean;
  needsOidc?: boolean;
}

export const CALLBACK = '/callback/oidc';
export const GET_SESSION = '/get-session';

export const endpoints: Readonly<Record<string, Endpoint>> = {
  '/sign-in/email': { method: 'POST', fields: ['email', 'password'], isProof: true },
  '/sign-in/social': {
    method: 'POST',
    fields: ['callbackURL'],
    fixed: { provider: 'oidc', errorCallbackURL: '/console/sign-in' },
    needsOidc: true,
  },
  [CALLBACK]: { method: 'GET', fields: [], isProof: true, needsOidc: true },
  '/two-factor/verify-totp': { method: 'POST', fields: ['code'], isProof: true },
  '/two-factor/verify-backup-code': { method: 'POST', fields: ['code'], isProof: true },
  '/sign-out': { method: 'POST', fields: [] },
  [GET_SESSION]: { method: 'GET', fields: [], needsSession: true },
  '/list-sessions': { method: 'GET', fields: [], needsSession: true },
  '/revoke-session': { method: 'POST', fields: ['token'], needsSession: true },
  '/revoke-other-sessions': { method: 'POST', fields: [], needsSession: true },
  '/change-password': {
    method: 'POST',
    fields: ['currentPassword', 'newPassword'],
    fixed: { revokeOtherSessions: 'true' },
    needsSession: true,
  },
  '/two-factor/enable': { method: 'POST', fields: ['password'], needsSession: true },
  '/two-factor/disable': { method: 'POST', fields: ['password'], needsSession: true },
  '/two-factor/generate-backup-codes': { method: 'POST', fields: ['password'], needsSession: true },
};
