"""What the words of a launch mean together: the job, its GPUs, its meshes and its batches.

Nothing here reads a file or knows bash; ``plan.build_plan`` is the way in.
"""
