import { useLayoutEffect, useRef } from "preact/hooks";

/** Tells whether a component is still drawn: what it began may end after it is gone. */
export function useDrawn(): () => boolean {
  const drawn = useRef(true);
  useLayoutEffect(
    () => () => {
      drawn.current = false;
    },
    [],
  );
  return () => drawn.current;
}
