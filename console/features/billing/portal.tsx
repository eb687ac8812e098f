// Opens the portal of the payment provider: payment methods, billing address and receipts.

import { call } from '../../api.ts';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { useChange, useGet } from '../../queries.ts';

/** Shows nothing if the installation takes no payments. */
export function PortalButton({ accountId }: { accountId: string }) {
  const options = useGet('/payment-options').data;
  const opening = useChange(() => call('POST /accounts/{id}/portal', { id: accountId, body: {} }), {
    onDone: ({ url }) => window.location.assign(url),
  });
  if (options?.portal !== true) return null;
  return (
    <>
      <ActionButton
        label="Payment methods"
        icon="card"
        onClick={() => opening.mutate(undefined)}
        loading={opening.isPending || opening.isSuccess}
      />
      <FailureNotice failure={opening.error} />
    </>
  );
}
