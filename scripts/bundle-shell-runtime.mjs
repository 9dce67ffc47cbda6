// Builds only the shell runtime, for its image:  node scripts/bundle-shell-runtime.mjs [FOLDER]
import { bundleShellRuntime } from './bundle.mjs';

await bundleShellRuntime(process.argv[2]);
