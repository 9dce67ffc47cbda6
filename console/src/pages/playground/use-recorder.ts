import { useEffect, useRef, useState } from 'preact/hooks';

/** What WhatsApp plays comes first. */
const TYPES = ['audio/ogg;codecs=opus', 'audio/mp4', 'audio/webm;codecs=opus'];

/** A microphone that records one voice message at a time. */
export interface Recorder {
  /** Whether the browser can record: a page that is neither HTTPS nor of this machine cannot. */
  isAvailable: boolean;
  /** Since when it records, in seconds; undefined: it does not. */
  seconds: number | undefined;
  /** @throws the person allows no microphone, or there is none */
  start(): Promise<void>;
  /** Ends the recording. */
  stop(): Promise<Blob>;
  /** Ends the recording and forgets it. */
  cancel(): void;
}

export function useRecorder(): Recorder {
  const [seconds, setSeconds] = useState<number>();
  const recorder = useRef<MediaRecorder | undefined>(undefined);
  const isRecording = seconds !== undefined;
  useEffect(() => {
    if (!isRecording) return;
    const timer = setInterval(() => setSeconds((before = 0) => before + 1), 1_000);
    return () => clearInterval(timer);
  }, [isRecording]);
  const end = () => {
    for (const track of recorder.current?.stream.getTracks() ?? []) track.stop();
    recorder.current = undefined;
    setSeconds(undefined);
  };
  useEffect(() => end, []);
  return {
    isAvailable: navigator.mediaDevices !== undefined && typeof MediaRecorder === 'function',
    seconds,
    start: async () => {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
      recorder.current = new MediaRecorder(stream, mimeType === undefined ? {} : { mimeType });
      recorder.current.start();
      setSeconds(0);
    },
    stop: () =>
      new Promise((resolve) => {
        const active = recorder.current;
        if (!active) return resolve(new Blob());
        active.ondataavailable = ({ data }) => {
          end();
          resolve(data);
        };
        active.stop();
      }),
    cancel: end,
  };
}
