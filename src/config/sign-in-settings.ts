// The public URL and the OpenID Connect issuer, as config.ts reads them from the environment.

/** An issuer of OpenID Connect. */
export interface OidcSettings {
  /** Without the path of its discovery document. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Label of the sign-in button. */
  name: string;
  /** An email counts as verified if the issuer does not say whether it is. */
  isEmailAssumed: boolean;
}

type Read = (name: string) => string | null;

/** The origin, such as https://turnpike.example.com; null if it is not set. */
export function readPublicUrl(read: Read, faults: string[]): string | null {
  const text = read('TURNPIKE_PUBLIC_URL');
  if (text === null) return null;
  const url = URL.parse(text);
  const isOrigin = url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (isOrigin && isSafeUrl(url)) return url.origin;
  faults.push(
    'TURNPIKE_PUBLIC_URL: must be the public URL of the service, https://HOST or https://HOST:PORT without a path (http:// only for localhost)',
  );
  return null;
}

/** Null unless an issuer is set. */
export function readOidc(read: Read, publicUrl: string | null, faults: string[]): OidcSettings | null {
  const names = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET'].map((name) => `TURNPIKE_OIDC_${name}`);
  const [issuer = null, clientId = null, clientSecret = null] = names.map(read);
  const others = ['NAME', 'EMAIL_VERIFIED'].map((name) => read(`TURNPIKE_OIDC_${name}`));
  if ([issuer, clientId, clientSecret, ...others].every((text) => text === null)) return null;
  const missing = names.filter((name) => read(name) === null);
  if (missing.length > 0)
    faults.push(`${missing.join(', ')}: must be set together with the other TURNPIKE_OIDC settings`);
  const url = issuer === null ? null : URL.parse(issuer);
  if (
    issuer !== null &&
    (url === null || !isSafeUrl(url) || url.search !== '' || url.hash !== '' || url.username !== '')
  )
    faults.push('TURNPIKE_OIDC_ISSUER: must be the https:// URL of an issuer (http:// only for localhost)');
  if (publicUrl === null && read('TURNPIKE_PUBLIC_URL') === null)
    faults.push('TURNPIKE_PUBLIC_URL: must be set with TURNPIKE_OIDC_ISSUER, which redirects people to it');
  const [name, verified] = [others[0] ?? 'single sign-on', others[1] ?? 'said'];
  if (verified !== 'said' && verified !== 'assumed')
    faults.push('TURNPIKE_OIDC_EMAIL_VERIFIED: must be "said" or "assumed"');
  if (issuer === null || clientId === null || clientSecret === null) return null;
  return Object.freeze({ issuer, clientId, clientSecret, name, isEmailAssumed: verified === 'assumed' });
}

/** Whether the URL has TLS, or is on this machine. */
export function isSafeUrl({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
}
