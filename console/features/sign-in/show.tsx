// The sign-in in place of any page, until the user signs in.

import { Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { SignInShape } from '../../../src/admin-api/shapes.ts';
import { useClearSession } from '../../me.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { refuseSearch } from '../../typed-search.ts';
import { showSignIn } from './form.ts';
import { redirectToIssuer } from './single-sign-on.ts';

export function SignIn() {
  const clearSession = useClearSession();
  const place = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is typed stays
  useEffect(() => {
    refuseSearch();
    return place.current === null ? undefined : showSignIn(place.current, () => void clearSession());
  }, []);
  return <div ref={place} />;
}

export function SingleSignOns({ issuers }: Pick<SignInShape, 'issuers'>) {
  return issuers.map((issuer) => <SingleSignOn key={issuer.id} {...issuer} />);
}

function SingleSignOn({ id, name }: SignInShape['issuers'][number]) {
  const redirecting = useMutation({
    mutationFn: () => redirectToIssuer(id),
  });
  return (
    <Stack gap="sm">
      <ActionButton
        label={`Continue with ${name}`}
        fullWidth
        icon="shield"
        onClick={() => redirecting.mutate()}
        loading={redirecting.isPending}
      />
      <FailureNotice failure={redirecting.error} />
    </Stack>
  );
}
