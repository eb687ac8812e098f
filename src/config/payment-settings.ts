// The credentials of payment providers, as config.ts reads them from the environment.

import { isSafeUrl } from './sign-in-settings.ts';

/** Credentials of Stripe's API and webhooks. */
export interface StripeCredentials {
  secretKey: string;
  webhookSecret: string;
  /** Origin of the API, for tests; null: Stripe's own. */
  apiUrl: string | null;
}

export const STRIPE_SECRET_KEY = 'TURNPIKE_STRIPE_SECRET_KEY';
export const STRIPE_WEBHOOK_SECRET = 'TURNPIKE_STRIPE_WEBHOOK_SECRET';
const API_URL = 'TURNPIKE_STRIPE_API_URL';

/** Null unless Stripe is set. A variable that is empty is a fault: without a webhook secret, anybody could send events. */
export function readStripe(
  environment: Record<string, string | undefined>,
  publicUrl: string | null,
  faults: string[],
): StripeCredentials | null {
  const [secretKey, webhookSecret, apiUrl] = [STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, API_URL].map((name) =>
    environment[name]?.trim(),
  );
  if (secretKey === undefined && webhookSecret === undefined && apiUrl === undefined) return null;
  const before = faults.length;
  const missing = [
    ...(secretKey === undefined ? [STRIPE_SECRET_KEY] : []),
    ...(webhookSecret === undefined ? [STRIPE_WEBHOOK_SECRET] : []),
  ];
  if (missing.length > 0)
    faults.push(`${missing.join(', ')}: must be set together with the other TURNPIKE_STRIPE settings`);
  if (secretKey !== undefined && !/^[sr]k_(?:test|live)_[A-Za-z0-9_]{8,}$/.test(secretKey))
    faults.push(
      `${STRIPE_SECRET_KEY}: ${nature(secretKey)}; set it to a secret or restricted key of Stripe: sk_live_…, sk_test_…, rk_live_… or rk_test_…`,
    );
  if (webhookSecret !== undefined && !/^whsec_[A-Za-z0-9+/_=-]{8,}$/.test(webhookSecret))
    faults.push(
      `${STRIPE_WEBHOOK_SECRET}: ${nature(webhookSecret)}; set it to the signing secret of the webhook endpoint at Stripe: whsec_…`,
    );
  const url = apiUrl === undefined ? null : URL.parse(apiUrl);
  if (apiUrl !== undefined && (url === null || url.origin === 'null' || !isOrigin(url) || !isSafeUrl(url)))
    faults.push(`${API_URL}: must be https://HOST without a path (http:// only for localhost); omit it to use Stripe`);
  if (publicUrl === null && environment['TURNPIKE_PUBLIC_URL'] === undefined)
    faults.push(`TURNPIKE_PUBLIC_URL: must be set with ${STRIPE_SECRET_KEY}, because Stripe sends people back to it`);
  if (faults.length > before || secretKey === undefined || webhookSecret === undefined) return null;
  return Object.freeze({ secretKey, webhookSecret, apiUrl: url?.origin ?? null });
}

/** Says what is wrong without showing the value. */
function nature(value: string): string {
  return value === '' ? 'is empty' : 'has the wrong form';
}

function isOrigin({ pathname, search, hash, username }: URL): boolean {
  return pathname === '/' && search === '' && hash === '' && username === '';
}
