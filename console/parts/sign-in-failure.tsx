// Why somebody is not let in: in the service's words, and how long to wait in ours.

import { Alert } from '@mantine/core';
import { ApiFailure } from '../api.ts';
import { words } from '../words.ts';
import { FailureNotice } from './failure-notice.tsx';
import { Icon } from './icon.tsx';

/** `instead` says better than the service what this failure means here. */
export function SignInFailure({ failure, instead }: { failure: unknown; instead?: string | undefined }) {
  if (!(failure instanceof ApiFailure) || failure.mayPass) return <FailureNotice failure={failure} />;
  const text =
    instead ?? (failure.status === 429 ? words.signIn.throttled(failure.retryAfterSeconds) : failure.message);
  return (
    <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert">
      {text}
    </Alert>
  );
}
