/** Pixels of a rem: 16, unless the browser was told to show larger letters, or smaller ones. */
export const REM_PX = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
