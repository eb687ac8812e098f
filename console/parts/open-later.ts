// What opens a part that has just loaded: after it stands in the page, so that it knows the element that gets the focus back.

import { type RefObject, useEffect, useRef, useState } from 'react';

interface OpenedLater {
  isReady: boolean;
  /** Contains the button that opens the part, which replaces one that had the focus. */
  place: RefObject<HTMLSpanElement | null>;
}

export function useOpenLater(): OpenedLater {
  const place = useRef<HTMLSpanElement>(null);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    place.current?.querySelector('button')?.focus();
    setReady(true);
  }, []);
  return { isReady, place };
}
