"""Scheduled sweeps: stateless, bounded, safe to lose and to run twice; each leaves a heartbeat."""
