// Builds only the shell runtime, for its image.
import { bundleShellRuntime } from './bundle.mjs';

await bundleShellRuntime();
