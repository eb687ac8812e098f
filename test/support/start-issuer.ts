// An OpenID Connect issuer on a free port. It signs in the person that the test names, without a password.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
// @ts-expect-error: it has no types of its own
import { Provider as OidcProvider } from 'oidc-provider';

export interface IssuedPerson {
  sub: string;
  email?: string;
  email_verified?: boolean | string;
  name?: string;
  groups?: unknown;
  [claim: string]: unknown;
}

export interface Issuer extends AsyncDisposable {
  url: string;
  /** Person at the browser; null if they cancel. */
  person: IssuedPerson | null;
  /** Called before each answer. */
  delayMs: number;
  /** Requests so far, as "GET /path". */
  asked: string[];
}

export const ISSUED = { clientId: 'turnpike', clientSecret: 'the-secret-of-the-client-at-the-issuer' };

/** `redirectUri` is the sign-in callback; `tls`: the certificate of 127.0.0.1, without one it has no TLS. */
export async function startIssuer(
  redirectUri: string,
  more: object = {},
  tls: { cert: string; key: string } | null = null,
): Promise<Issuer> {
  const handler: { handle: (request: IncomingMessage, response: ServerResponse) => unknown } = { handle: () => {} };
  const listener = (request: IncomingMessage, response: ServerResponse) => void answer(request, response);
  const server = tls === null ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `${tls === null ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: Issuer = {
    url,
    person: null,
    delayMs: 0,
    asked: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const provider = new OidcProvider(url, settings(issuer, redirectUri, more));
  handler.handle = provider.callback();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    issuer.asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    await Bun.sleep(issuer.delayMs);
    if (!request.url?.startsWith('/interaction/')) return handler.handle(request, response);
    const result =
      issuer.person === null
        ? { error: 'access_denied', error_description: '<b>call 0800 evil</b>' }
        : { login: { accountId: issuer.person.sub } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };
  return issuer;
}

function settings(issuer: Issuer, redirectUri: string, more: object) {
  return {
    clients: [
      {
        client_id: ISSUED.clientId,
        client_secret: ISSUED.clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups', '_claim_names'] },
    cookies: { keys: ['for tests'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ ...issuer.person, sub: accountId }),
    }),
    pkce: { required: () => true },
    async loadExistingGrant({ oidc }: { oidc: Record<string, never> }) {
      const { provider, client, session } = oidc as unknown as {
        provider: { Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<void> } };
        client: { clientId: string };
        session: { accountId: string };
      };
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
    ...more,
  };
}
