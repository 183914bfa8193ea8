// A stream of events that goes on as long as it is wanted.

/** After how many milliseconds a stream is opened again that was refused: a browser does so itself only where one broke off. */
const AGAIN_MS = 15_000;
/** The service sends something every 50 s at least. Where twice that brings nothing, the network has lost the stream. */
const SILENT_MS = 100_000;

interface Listener {
  onOpen: () => void;
  /** A stream does not say why it was refused. */
  onRefused: () => void;
  onData: (data: string) => void;
}

/** Listens; gives what ends that. */
export function listen(url: string, listener: Listener): () => void {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout>;
  const wait = (milliseconds: number) => {
    clearTimeout(timer);
    timer = setTimeout(open, milliseconds);
  };
  const stop = () => {
    clearTimeout(timer);
    source?.close();
  };
  function open() {
    source?.close();
    source = new EventSource(url);
    wait(SILENT_MS);
    source.onopen = () => {
      wait(SILENT_MS);
      listener.onOpen();
    };
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;
      wait(AGAIN_MS);
      listener.onRefused();
    };
    source.onmessage = ({ data }: MessageEvent<string>) => {
      wait(SILENT_MS);
      listener.onData(data);
    };
    source.addEventListener("quiet", () => wait(SILENT_MS));
  }
  open();
  return stop;
}
