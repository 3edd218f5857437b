! Pick and place for irb140: three parts from a row to a stack, 2 kg each. Millimetres, quaternions w, x, y, z.
MODULE PickAndPlace
  PERS tooldata gripper := [TRUE, [[0, 0, 110], [1, 0, 0, 0]], [0.8, [0, 0, 50], [1, 0, 0, 0], 0.002, 0.002, 0.001]];
  PERS loaddata part := [2, [0, 0, 30], [1, 0, 0, 0], 0.003, 0.003, 0.003];

  CONST jointtarget home := [[0, 0, 0, 0, 90, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget pick  := [[420, -200, 200], [0, 1, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];
  CONST robtarget place := [[420, 200, 200], [0, 1, 0, 0], [0, 0, 0, 0], [9E9, 9E9, 9E9, 9E9, 9E9, 9E9]];

  PROC main()
    MoveAbsJ home, v1000, fine, gripper;
    FOR i FROM 0 TO 2 DO
      MoveJ Offs(pick, 0, 60 * i, 80), v1000, z30, gripper;
      MoveL Offs(pick, 0, 60 * i, 0), v200, fine, gripper;
      WaitTime 0.2;
      GripLoad part;
      MoveL Offs(pick, 0, 60 * i, 80), v500, z30, gripper;
      MoveJ Offs(place, 0, 0, 80 + 40 * i), v1000, z30, gripper;
      MoveL Offs(place, 0, 0, 40 * i), v200, fine, gripper;
      WaitTime 0.2;
      GripLoad load0;
      MoveL Offs(place, 0, 0, 80 + 40 * i), v500, z30, gripper;
    ENDFOR
    MoveAbsJ home, v1000, fine, gripper;
  ENDPROC
ENDMODULE
